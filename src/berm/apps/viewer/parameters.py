"""A scene's parameters as a page shows them: kind, value, bounds, unit, and where to look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from berm.apps.listing import UNIT
from berm.scenes.parts.params import SceneParams
from berm.scenes.parts.setup import OF_SOLVER, SOLVER, Setup
from berm.solvers.choice import names
from berm.solvers.options import Option, declared

WIDE = 20.0  # bounds this many times beyond the value say nothing about where to look
DECADE = 10.0
LOG_FROM = 50.0  # ratio of the ends of a slider from which on it counts in powers
SLIDERS = {  # of solvers: where a person would look
    "solver.iterations": (1, 50),
    "solver.substeps": (1, 50),
    "solver.sleep": (0.0, 2.0e-3),
}
SOLVER_SCHEMA = {"type": "string", "description": "the method that moves grains and bodies"}
JSON_KINDS = {"int": "integer", "float": "number", "bool": "boolean", "choice": "string"}
_KINDS = {"integer": "int", "number": "float", "boolean": "bool", "string": "text"}


def describe(setup: Setup) -> list[dict[str, Any]]:
    """Return every parameter of a scene for `hello`, those of its own first, then the solver."""
    params = setup.params
    fields = type(params).model_fields
    schema = type(params).model_json_schema()["properties"]
    effect, live = shown(setup), setup.live_names()
    base: type[SceneParams] = type(params).__mro__[1]
    own = [name for name in fields if name not in base.model_fields]
    order = [*own, *(name for name in fields if name not in own)]
    listed = [_one(name, schema[name], effect[name], live, params.SLIDERS) for name in order]
    able = names(setup.scene.needs)
    if setup.solver.name not in able:  # with a form behind a colon
        able = [setup.solver.name, *able]
    listed.append(_one(SOLVER, SOLVER_SCHEMA | {"enum": able}, effect[SOLVER], live, {}))
    for option, what in declared(setup.solver.kind).items():
        name = OF_SOLVER + option
        listed.append(_one(name, _schema_of(what), effect[name], live, SLIDERS))
    return listed


def shown(setup: Setup) -> dict[str, Any]:
    """Return the values in effect as a page shows them: words of choices, of laws their names."""
    values = setup.in_effect()
    for option, what in declared(setup.solver.kind).items():
        value = values[OF_SOLVER + option]
        if what.names is not None:
            law = value["law"] if isinstance(value, dict) else value
            values[OF_SOLVER + option] = "none" if law is None else law
    return values


def _schema_of(option: Option) -> dict[str, Any]:
    """Return an option of a solver as a JSON schema says it."""
    unit = f" ({option.unit})" if option.unit else ""
    made: dict[str, Any] = {"type": JSON_KINDS[option.kind], "description": option.about + unit}
    if option.names is not None:
        made["enum"] = list(option.names())
    if option.low is not None:
        made |= {"minimum": option.low, "maximum": option.high}
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
