"""Options of solvers: each is declared once, with its kind, its range and its unit.

A solver is a dataclass whose fields are made by the functions here:

    iterations: int = whole(15, 1, 100_000)
    skin: float = number(0.1, 0.0, 2.0, "radii")
    friction: str = choice("cone", ("cone", "box"))
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from berm.core import checks
from berm.core.errors import InputError


@dataclass(frozen=True)
class Option:
    """What an option may be. allowed: in words, for an error; read: the value, or an InputError."""

    allowed: str
    read: Callable[[str, Any], Any]
    low: float | None = None
    high: float | None = None
    choices: tuple[Any, ...] = ()
    unit: str = ""


def whole(default: int | None, low: int, high: int) -> Any:
    """Return a field for a whole number; 3.0 is one. With a default of None, None is allowed."""
    words = _or_none(f"a whole number from {low} to {high}", default)

    def read(what: str, value: Any) -> int:
        return int(checks.number(what, value, words, lambda x: low <= x <= high and x % 1 == 0))

    return _field(default, Option(words, read, low, high))


def number(
    default: float | None, low: float, high: float, unit: str = "", above: bool = False
) -> Any:
    """Return a field for a number; above: `low` itself is not allowed."""
    range_ = f"above {low:g}, at most {high:g}" if above else f"{low:g} to {high:g}"
    words = _or_none(f"{range_} {unit}".strip(), default)

    def read(what: str, value: Any) -> float:
        return checks.number(
            what, value, words, lambda x: low <= x <= high and not (above and x == low)
        )

    return _field(default, Option(words, read, low, high, unit=unit))


def choice(default: str | None, names: Iterable[str]) -> Any:
    """Return a field for one of several words."""
    known = tuple(names)
    words = _or_none(", ".join(known), default)

    def read(what: str, value: Any) -> str:
        if not isinstance(value, str) or value not in known:
            raise InputError(what, value, words)
        return value

    return _field(default, Option(words, read, choices=known))


def flag(default: bool) -> Any:
    """Return a field for a switch."""

    def read(what: str, value: Any) -> bool:
        if not isinstance(value, bool | np.bool_):
            raise InputError(what, value, "true or false")
        return bool(value)

    return _field(default, Option("true or false", read, choices=(True, False)))


def made_by(default: Any, make: Callable[[Any], Any], allowed: str) -> Any:
    """Return a field for something that `make` makes of what was given, or refuses."""
    return _field(default, Option(allowed, lambda _, value: make(value)))


def declared(solver: Any) -> dict[str, Option]:
    """Return the options of a solver or of a class of solvers, by name."""
    return {f.name: f.metadata["option"] for f in dataclasses.fields(solver)}


def check(solver: Any) -> None:
    """Replace each option of a solver by its checked value."""
    for field in dataclasses.fields(solver):
        value, option = getattr(solver, field.name), field.metadata["option"]
        if value is None and field.default is None:
            continue
        setattr(solver, field.name, option.read(f"solver {solver.name}: {field.name}", value))


def check_names(kind: Any, given: Mapping[str, Any], what: str = "") -> None:
    """Refuse options that this class of solvers does not have."""
    known = list(declared(kind))
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            label = what or f"solver {kind.name}: unknown option"
            raise InputError(label, name, ", ".join(known) + hint)


def _or_none(words: str, default: Any) -> str:
    return f"{words}, or none" if default is None else words


def _field(default: Any, option: Option) -> Any:
    return dataclasses.field(default=default, metadata={"option": option})
