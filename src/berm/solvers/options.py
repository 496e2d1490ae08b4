"""Options of solvers: each is declared once, with its kind, its range and its unit.

A solver is a dataclass whose fields are made by the functions here:

    iterations: int = whole(15, 1, 100_000, "passes over the contacts")
    skin: float = number(0.1, 0.0, 2.0, "margin of the list of pairs", "radii")
    friction: str = choice("cone", ("cone", "box"), "how friction is bounded")
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
    """What an option is and may be.

    about: in words; allowed: in words, for an error; read: returns the value, or an InputError;
    kind: "int", "float", "bool", "choice" or "text"; names: gives the words of a choice.
    """

    about: str
    allowed: str
    read: Callable[[str, Any], Any]
    kind: str
    low: float | None = None
    high: float | None = None
    unit: str = ""
    names: Callable[[], Iterable[str]] | None = None


def whole(default: int | None, low: int, high: int, about: str) -> Any:
    """Return a field for a whole number; 3.0 is one. With a default of None, None is allowed."""
    words = _or_none(f"a whole number from {low} to {high}", default)

    def read(what: str, value: Any) -> int:
        return int(checks.number(what, value, words, lambda x: low <= x <= high and x % 1 == 0))

    return _field(default, Option(about, words, read, "int", low, high))


def number(
    default: float | None, low: float, high: float, about: str, unit: str = "", above: bool = False
) -> Any:
    """Return a field for a number; above: `low` itself is not allowed."""
    range_ = f"above {low:g}, at most {high:g}" if above else f"{low:g} to {high:g}"
    words = _or_none(f"{range_} {unit}".strip(), default)

    def read(what: str, value: Any) -> float:
        return checks.number(
            what, value, words, lambda x: low <= x <= high and not (above and x == low)
        )

    return _field(default, Option(about, words, read, "float", low, high, unit))


def choice(default: str | None, names: Iterable[str], about: str) -> Any:
    """Return a field for one of several words."""
    known = tuple(names)
    words = _or_none(", ".join(known), default)
    listed = known if default is not None else ("none", *known)

    def read(what: str, value: Any) -> str | None:
        if default is None and value == "none":
            return None
        if not isinstance(value, str) or value not in known:
            raise InputError(what, value, words)
        return value

    return _field(default, Option(about, words, read, "choice", names=lambda: listed))


def flag(default: bool, about: str) -> Any:
    """Return a field for a switch."""

    def read(what: str, value: Any) -> bool:
        if not isinstance(value, bool | np.bool_):
            raise InputError(what, value, "true or false")
        return bool(value)

    return _field(default, Option(about, "true or false", read, "bool"))


def made_by(
    default: Any, make: Callable[[Any], Any], about: str, names: Callable[[], Iterable[str]]
) -> Any:
    """Return a field for something that `make` makes, or refuses; names: those that it knows."""
    return _field(
        default, Option(about, about, lambda _, given: make(given), "choice", names=names)
    )


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
