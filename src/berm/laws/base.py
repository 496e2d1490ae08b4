"""What a contact law declares, and the tables in which laws are found by name."""

from __future__ import annotations

import dataclasses
import importlib
import math
import pkgutil
from collections.abc import Mapping
from typing import Any, ClassVar

import berm.laws
from berm.core.errors import InputError
from berm.core.materials import Material
from berm.core.registry import Registry

Numbers = tuple[float, float, float, float]

NORMAL: Registry[type[NormalLaw]] = Registry("normal law")
TANGENTIAL: Registry[type[Law]] = Registry("tangential law")
ROLLING: Registry[type[Law]] = Registry("rolling law")
COHESION: Registry[type[Law]] = Registry("cohesion law")
ROLES: dict[str, Registry[Any]] = {
    "normal": NORMAL,
    "tangential": TANGENTIAL,
    "rolling": ROLLING,
    "cohesion": COHESION,
}


@dataclasses.dataclass(frozen=True)
class Law:
    """A sub-model. Its fields are its own options; what it takes from materials it names in USES.

    history: numbers that a contact remembers for it. UNITS: of its own options.
    """

    name: ClassVar[str] = ""
    history: ClassVar[int] = 0
    UNITS: ClassVar[Mapping[str, str]] = {}
    USES: ClassVar[tuple[str, ...]] = ()

    def numbers(self, a: Material, b: Material) -> Numbers:
        """Return the four numbers that the compiled function gets for this pair of materials."""
        return (0.0, 0.0, 0.0, 0.0)

    def viscosity(self, numbers: Numbers) -> float:
        """Return a damping (N s/m) that the law has beside the normal one; it bounds the step."""
        return 0.0

    def options(self) -> dict[str, Any]:
        """Return name and options as plain values."""
        return {"law": self.name, **dataclasses.asdict(self)}

    def _check(
        self, option: str, low: float, high: float = math.inf, open_low: bool = False
    ) -> None:
        value = getattr(self, option)
        if value is None:
            return
        fine = isinstance(value, int | float) and math.isfinite(value) and low <= value <= high
        if not fine or (open_low and value == low):
            unit = self.UNITS.get(option, "")
            rule = f"above {low:g}" if open_low else f"{low:g} or more"
            top = "" if high == math.inf else f", at most {high:g}"
            raise InputError(f"law {self.name!r}: {option}", value, f"{rule}{top} {unit}".strip())


@dataclasses.dataclass(frozen=True)
class NormalLaw(Law):
    """A normal law also tells how stiff a contact gets, so that a time step can be chosen."""

    def contact_time(self, numbers: Numbers, r_eff: float, m_eff: float, speed: float) -> float:
        """Return the duration (s) of an undamped collision at `speed` (m/s)."""
        raise NotImplementedError

    def damping(self, numbers: Numbers, r_eff: float, m_eff: float, speed: float) -> float:
        """Return the largest damping (N s/m) of a collision at `speed` (m/s) where one is given.

        It bounds the step. That of a restitution is less than critical and needs no bound: 0.
        """
        return 0.0

    def elastic(self, numbers: Any, xi: Any, r_eff: Any, m_eff: Any) -> tuple[Any, Any]:
        """Return elastic force (N) and stored energy (J) of contacts: arrays; numbers (4, ...)."""
        raise NotImplementedError


def pair_restitution(a: Material, b: Material) -> float | None:
    """Return the restitution of a pair, the mean of the two; None where a damping is given."""
    if a.damping is not None or b.damping is not None or None in (a.restitution, b.restitution):
        return None
    assert a.restitution is not None and b.restitution is not None
    return 0.5 * (a.restitution + b.restitution)


def pair_damping(a: Material, b: Material, law: str) -> float:
    """Return the given damping coefficient of a pair, the mean of those that are given."""
    given = [m.damping for m in (a, b) if m.damping is not None]
    if not given:
        raise InputError(
            f"law {law!r}: damping of materials {a.name!r}, {b.name!r}",
            None,
            "a damping coefficient in the material",
        )
    return sum(given) / len(given)


def law(role: str, what: Any) -> Any:
    """Return a law from a name, a map {law: name, option: value}, or a law itself; None: "none"."""
    load_all()
    if isinstance(what, Law):
        if type(what) not in [ROLES[role].get(name) for name in ROLES[role]]:
            raise InputError(f"{role} law", type(what).__name__, ", ".join(ROLES[role].names()))
        return what
    options = dict(what) if isinstance(what, Mapping) else {"law": what or "none"}
    kind = ROLES[role].get(str(options.pop("law", "")))
    known = {field.name for field in dataclasses.fields(kind)}
    for option in options:
        if option not in known:
            raise InputError(
                f"{role} law {kind.name!r}: unknown option", option, ", ".join(known) or "none"
            )
    return kind(**options)


def laws_of(role: str) -> list[str]:
    """Return the names of the laws that can play this role."""
    load_all()
    return ROLES[role].names()


def load_all() -> None:
    """Import every module of this package, so that each law registers itself."""
    for module in pkgutil.iter_modules(berm.laws.__path__):
        if module.name.startswith(tuple(ROLES)):
            importlib.import_module(f"berm.laws.{module.name}")
