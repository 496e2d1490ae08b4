"""Materials: one frozen description for all solvers, presets with their sources, pair mixing."""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import dataclass

from berm.core import checks
from berm.core.errors import InputError
from berm.core.registry import Registry


@dataclass(frozen=True)
class Material:
    """What a grain or a body is made of (SI units).

    `stiffness` (N/m) and `damping` (N s/m) are those of a contact between two grains of this
    material. Damping may be given as `restitution` instead: it is then derived for each pair of
    materials from the reduced mass of two reference grains ([Bell05] (9)-(11)).

    `contact_compliance` and `contact_damping` are of a body of this material against a rigid one,
    whatever the number of points at which they touch: a tyre has about 3e-6 m/N and 0.02 s.
    """

    name: str = "grain"
    density: float = 2600.0  # kg/m^3, of the grain itself
    stiffness: float = 1.0e5  # N/m
    damping: float | None = None  # N s/m
    restitution: float | None = 0.2  # used when damping is None
    friction_static: float = 0.6
    friction_kinetic: float = 0.5
    rolling_friction: float = 0.0  # for solvers with rotation
    adhesion: float = 0.0  # Pa, [Holz14] (35)
    young_modulus: float = 1.0e7  # Pa, for Hertzian solvers
    poisson_ratio: float = 0.3
    contact_compliance: float | None = None  # m/N, between bodies; None: as good as rigid
    contact_damping: float | None = None  # s, in which that comes to rest; None: a few steps
    slip: float = 0.0  # part of the rolling speed at which a tyre's friction is full
    source: str = ""

    def __post_init__(self) -> None:
        for field in ("density", "stiffness", "young_modulus"):
            checks.number(
                f"material {self.name!r}: {field}", getattr(self, field), "a number above 0",
                lambda x: 0.0 < x < math.inf,
            )  # fmt: skip
        for field in ("friction_static", "friction_kinetic", "rolling_friction", "adhesion"):
            checks.number(
                f"material {self.name!r}: {field}", getattr(self, field), "a number from 0 up",
                lambda x: 0.0 <= x < math.inf,
            )  # fmt: skip
        for field in ("contact_compliance", "contact_damping", "slip"):
            if getattr(self, field) is not None:
                checks.number(
                    f"material {self.name!r}: {field}", getattr(self, field), "a number from 0 up",
                    lambda x: 0.0 <= x < math.inf,
                )  # fmt: skip
        checks.number(
            f"material {self.name!r}: poisson_ratio", self.poisson_ratio, "above -1, below 0.5",
            lambda x: -1.0 < x < 0.5,
        )  # fmt: skip
        if self.friction_kinetic > self.friction_static:
            raise InputError(
                f"material {self.name!r}: friction_kinetic",
                self.friction_kinetic,
                f"at most friction_static = {self.friction_static}",
            )
        if self.damping is not None:
            checks.number(
                f"material {self.name!r}: damping", self.damping, "a number from 0 up",
                lambda x: 0.0 <= x < math.inf,
            )  # fmt: skip
        if self.damping is None and self.restitution is None:
            raise InputError(
                f"material {self.name!r}: damping", None, "damping or restitution must be given"
            )
        if self.restitution is not None:
            checks.number(
                f"material {self.name!r}: restitution", self.restitution, "above 0, at most 1",
                lambda x: 0.0 < x <= 1.0,
            )  # fmt: skip

    def replace(self, **changes: object) -> Material:
        """Return a copy with some values changed; a single `friction` sets both coefficients."""
        if "friction" in changes:
            friction = changes.pop("friction")
            changes.setdefault("friction_static", friction)
            changes.setdefault("friction_kinetic", friction)
        fields = {field.name for field in dataclasses.fields(self)}
        checks.known(f"material {self.name!r}: unknown property", changes, fields | {"friction"})
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True)
class PairLaw:
    """Contact parameters of a pair of materials."""

    stiffness: float
    damping: float
    friction_static: float
    friction_kinetic: float
    adhesion: float


def damping_from_restitution(stiffness: float, mass: float, restitution: float) -> float:
    """Damping (N s/m) with which a contact of reduced mass `mass` (kg) rebounds with `restitution`.

    [Bell05] (9)-(10) solved for k_d at given k_r.
    """
    if restitution >= 1.0:
        return 0.0
    log_e = math.log(restitution)
    return -2.0 * log_e * math.sqrt(mass * stiffness) / math.hypot(math.pi, log_e)


def mix(a: Material, b: Material, mass: float) -> PairLaw:
    """Combine two materials to the law of their contact; `mass` (kg) is the reduced mass.

    Stiffness: two springs in series, each twice as stiff as a contact of equals. Friction: the
    smaller coefficient (the weaker surface shears first), adhesion as well, so that one clean
    partner does not stick. Damping and restitution: the mean of the two.
    """
    stiffness = 2.0 * a.stiffness * b.stiffness / (a.stiffness + b.stiffness)

    def damping(m: Material) -> float:
        if m.damping is not None:
            return m.damping
        assert m.restitution is not None
        return damping_from_restitution(stiffness, mass, m.restitution)

    return PairLaw(
        stiffness=stiffness,
        damping=0.5 * (damping(a) + damping(b)),
        friction_static=min(a.friction_static, b.friction_static),
        friction_kinetic=min(a.friction_kinetic, b.friction_kinetic),
        adhesion=min(a.adhesion, b.adhesion),
    )


MATERIALS: Registry[Material] = Registry("material")


def _preset(material: Material) -> None:
    MATERIALS.register(material.name)(material)


# Friction is tan(friction angle) of the bulk soil. Grains that turn need rolling friction besides,
# to stand as steep as grains with corners (0.1 to 0.3: Ai et al. 2011); grains that do not turn,
# those of [Holz14], stand steeper than the soil with these values: `calibrate`. Adhesion gives the
# bulk about 0.9 of it as cohesion, where contacts are stiff enough to fail before they are squeezed
# flat (solver p2, docs/theory/p2.md).
_preset(
    Material(
        "gravel",
        density=2650.0,
        stiffness=1.0e5,
        restitution=0.2,
        friction_static=0.70,
        friction_kinetic=0.62,
        rolling_friction=0.25,
        source="friction angle 32-38 degrees, crushed gravel: Das, Advanced Soil Mechanics, Tab. 7",
    )
)
_preset(
    Material(
        "dry sand",
        density=2650.0,
        stiffness=1.0e5,
        restitution=0.15,
        friction_static=0.60,
        friction_kinetic=0.53,
        rolling_friction=0.2,
        source="friction angle 28-32 degrees, LETE sand: Wong, Theory of Ground Vehicles, Tab. 2.3",
    )
)
_preset(
    Material(
        "wet sand",
        density=2650.0,
        stiffness=1.0e5,
        restitution=0.1,
        friction_static=0.60,
        friction_kinetic=0.55,
        rolling_friction=0.2,
        adhesion=4.0e3,
        source="apparent cohesion of moist sand, a few kPa: Das, Advanced Soil Mechanics",
    )
)
_preset(
    Material(
        "loam",
        density=2600.0,
        stiffness=2.0e5,
        restitution=0.1,
        friction_static=0.55,
        friction_kinetic=0.48,
        rolling_friction=0.2,
        adhesion=8.0e3,
        source="sandy loam c = 1.7-12 kPa, phi = 22-29 degrees: Wong, Tab. 2.3",
    )
)
_preset(
    Material(
        "clay",
        density=2700.0,
        stiffness=3.0e5,
        restitution=0.05,
        friction_static=0.36,
        friction_kinetic=0.30,
        rolling_friction=0.2,
        adhesion=3.0e4,
        source="clayey soil c = 4-69 kPa, phi = 6-34 degrees: Wong, Tab. 2.3",
    )
)
_preset(
    Material(
        "rock",
        density=2700.0,
        stiffness=5.0e5,
        restitution=0.4,
        friction_static=0.75,
        friction_kinetic=0.65,
        rolling_friction=0.3,
        young_modulus=5.0e10,
        poisson_ratio=0.25,
        source="rock on rock 0.6-0.85: Byerlee 1978",
    )
)
_preset(
    Material(
        "steel",
        density=7850.0,
        stiffness=1.0e6,
        restitution=0.3,
        friction_static=0.40,
        friction_kinetic=0.36,
        rolling_friction=0.1,
        young_modulus=2.0e11,
        source="soil on steel, delta = 16-24 degrees: McKyes, Soil Cutting and Tillage",
    )
)
_preset(
    Material(
        "glass beads",
        density=2500.0,
        stiffness=1.0e5,
        restitution=0.6,
        friction_static=0.3,
        friction_kinetic=0.3,
        rolling_friction=0.01,
        young_modulus=6.0e10,
        poisson_ratio=0.2,
        source="bead on bead 0.1-0.3: Foerster et al. 1994 (sliding value with shape effect)",
    )
)
_preset(
    Material(
        "rough wall",
        density=2700.0,
        stiffness=1.0e6,
        restitution=0.2,
        friction_static=1.0e3,
        friction_kinetic=1.0e3,
        rolling_friction=1.0e3,
        adhesion=1.0e6,
        source="a boundary that never is the weaker partner: the pair takes the grain's values",
    )
)
_preset(MATERIALS.get("rough wall").replace(name="cloth", source="as the rough wall"))


def material(name: str, **changes: object) -> Material:
    """Return the preset called `name`, with changes: material("gravel", friction=0.5)."""
    preset = MATERIALS.get(name)
    return preset.replace(**changes) if changes else preset


# Heaps of grains that do not turn: static friction of a contact (kinetic 0.885 of it) and angle of
# repose (degrees); 2,000 grains, 3 seeds, solver p2, docs/theory/p2.md. Steeper than 55 degrees the
# heap reaches its spout, flatter than 8 it is a layer.
REPOSE = (
    (0.15, 8.7), (0.2, 15.2), (0.25, 25.5), (0.275, 29.9), (0.3, 33.2), (0.325, 37.1),
    (0.35, 40.1), (0.375, 42.5), (0.4, 45.0), (0.5, 54.6),
)  # fmt: skip


def calibrate(what: str | Material, angle: float | None = None) -> Material:
    """Return the material for grains that do not turn (solver `p2`): its heaps stand at `angle`.

    angle: of repose, degrees; by default the friction angle of the bulk, atan(friction_static), as
    the presets have it. Friction becomes that of a contact, read from heaps that were measured;
    the ratio of kinetic to static friction stays. Without adhesion: it comes on top.
    """
    law = material(what) if isinstance(what, str) else what
    wanted = math.degrees(math.atan(law.friction_static))
    if angle is not None:
        wanted = checks.number(f"material {law.name!r}: angle of repose", angle, "degrees")
    low, high = REPOSE[0], REPOSE[-1]
    if not low[1] <= wanted <= high[1]:
        raise InputError(
            f"material {law.name!r}: angle of repose", wanted, f"{low[1]:g} to {high[1]:g} degrees"
        )
    before, after = next(pair for pair in itertools.pairwise(REPOSE) if wanted <= pair[1][1])
    share = (wanted - before[1]) / (after[1] - before[1])
    static = before[0] + share * (after[0] - before[0])
    ratio = law.friction_kinetic / law.friction_static if law.friction_static > 0 else 1.0
    return law.replace(friction_static=static, friction_kinetic=ratio * static)
