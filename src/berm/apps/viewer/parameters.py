"""A scene's parameters as a page shows them: kind, value, bounds, unit, and where to look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from berm.apps.listing import UNIT, allowed
from berm.core.errors import InputError
from berm.scenes.base import Scene
from berm.scenes.params import SceneParams

WIDE = 20.0  # bounds this many times beyond the value say nothing about where to look
DECADE = 10.0
LOG_FROM = 50.0  # ratio of the ends of a slider from which on it counts in powers
_KINDS = {"integer": "int", "number": "float", "boolean": "bool", "string": "text"}


def describe(scene: Scene[Any], params: SceneParams) -> list[dict[str, Any]]:
    """Return every parameter of a scene for `hello`, those of its own first."""
    fields = type(params).model_fields
    schema = type(params).model_json_schema()["properties"]
    effect, live = params.in_effect(), scene.live_names()
    base: type[SceneParams] = type(params).__mro__[1]
    own = [name for name in fields if name not in base.model_fields]
    names = [*own, *(name for name in fields if name not in own)]
    return [_one(name, schema[name], effect[name], live, params.SLIDERS) for name in names]


def changed(scene: Scene[Any], params: SceneParams, given: Mapping[str, Any]) -> SceneParams:
    """Return the parameters with some of them changed; a wrong one is named with its bounds."""
    schema = type(params).model_json_schema()["properties"]
    for name in given:
        if name not in schema:
            raise InputError(f"scene {scene.name}: unknown parameter", name, ", ".join(schema))
    try:
        made = type(params).model_validate({**params.model_dump(), **given})
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else ""
        if name not in schema:
            raise InputError(f"scene {scene.name}: {first['msg']}") from None
        raise InputError(
            f"scene {scene.name}: {name}", first["input"], allowed(schema[name])
        ) from None
    made.in_effect()  # raises what material and solver do not take
    return made


def _one(
    name: str,
    schema: dict[str, Any],
    value: Any,
    live: tuple[str, ...],
    sliders: Mapping[str, tuple[float, float]],
) -> dict[str, Any]:
    options = [o for o in schema.get("anyOf", [schema]) if o.get("type") != "null"]
    kind = {**schema, **options[0]}
    choices = kind.get("enum") or kind.get("choices")
    shown = "choice" if choices else _KINDS.get(str(kind.get("type")), "text")
    low = kind.get("minimum", kind.get("exclusiveMinimum"))
    high = kind.get("maximum", kind.get("exclusiveMaximum"))
    text = str(schema.get("description", ""))
    unit = UNIT.search(text)
    made: dict[str, Any] = {
        "name": name,
        "kind": shown,
        "value": value,
        "low": low,
        "high": high,
        "step": 1 if shown == "int" else None,
        "choices": choices,
        "unit": unit[1] if unit else "",
        "description": text,
        "live": name in live,
        "slider": None,
        "log": False,
    }
    if shown in ("int", "float"):
        ends = sliders.get(name) or _where_to_look(value, low, high)
        made["slider"] = list(ends) if ends else None
        made["log"] = bool(ends and ends[0] > 0 and ends[1] / ends[0] >= LOG_FROM)
    return made


def _where_to_look(value: Any, low: Any, high: Any) -> tuple[float, float] | None:
    """Return the bounds, or a decade to both sides of the value where they are far away."""
    if value is None or not value > 0:
        return None if low is None or high is None else (low, high)
    least = value / DECADE if low is None else max(low, value / DECADE)
    most = value * DECADE if high is None else min(high, value * DECADE)
    if high is not None and high <= WIDE * value and low is not None:
        return low, high
    kind = type(value)
    return max(kind(least), kind(1)) if kind is int else least, kind(most)
