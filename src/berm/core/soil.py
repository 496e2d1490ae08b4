"""Soils: the ground as it lies, as it is dug, and as it bears; presets with their sources."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from berm.core import checks
from berm.core.errors import InputError
from berm.core.materials import Material, calibrate, material
from berm.core.registry import Registry

# Contacts that stick with so many Pa make a bulk with 1 Pa of cohesion (docs/theory/p2.md).
ADHESION_PER_COHESION = 1.0 / 0.9

_FROM_0 = ("a number from 0 up", lambda x: 0.0 <= x < math.inf)
_ABOVE_0 = ("a number above 0", lambda x: 0.0 < x < math.inf)
_ALLOWED = {
    "density": _ABOVE_0,
    "swell": ("from 1 to 3", lambda x: 1.0 <= x <= 3.0),
    "cohesion": _FROM_0,
    "friction_angle": ("degrees from 0 to 60", lambda x: 0.0 <= x <= 60.0),
    "repose_angle": ("degrees above 0, below 80", lambda x: 0.0 < x < 80.0),
    "tool_friction_angle": ("degrees from 0 to 60", lambda x: 0.0 <= x <= 60.0),
    "tool_adhesion": _FROM_0,
    "compaction": ("from 0 to 2", lambda x: 0.0 <= x <= 2.0),
    "preconsolidation": _ABOVE_0,
    "bekker_k_c": _FROM_0,
    "bekker_k_phi": _ABOVE_0,
    "bekker_n": ("above 0, at most 2", lambda x: 0.0 < x <= 2.0),
    "janosi_k": ("a length above 0, at most 1 m", lambda x: 0.0 < x <= 1.0),
}


@dataclass(frozen=True)
class Soil:
    """Ground that machines dig and drive on (SI units, angles in degrees).

    `density` is that of the ground as it lies (bank), moist as the preset says; dug out it takes
    `swell` times the room. `cohesion` and `friction_angle` are the bank's strength (Mohr-Coulomb),
    `repose_angle` is that of a heap of what was dug. `compaction` is the compression index C_c:
    how much the void ratio falls for each tenfold pressure above `preconsolidation`.
    """

    name: str = "soil"
    material: str = "loam"  # preset of its grains
    density: float = 1600.0  # kg/m^3
    swell: float = 1.2
    cohesion: float = 0.0  # Pa
    friction_angle: float = 30.0
    repose_angle: float = 32.0
    tool_friction_angle: float = 20.0  # on steel
    tool_adhesion: float = 0.0  # Pa, on steel
    compaction: float = 0.1
    preconsolidation: float = 98.0e3  # Pa
    bekker_k_c: float = 0.0  # N/m^(n+1)
    bekker_k_phi: float = 1.5e6  # N/m^(n+2)
    bekker_n: float = 1.0
    janosi_k: float = 0.02  # m
    source: str = ""

    def __post_init__(self) -> None:
        for field, (allowed, good) in _ALLOWED.items():
            checks.number(f"soil {self.name!r}: {field}", getattr(self, field), allowed, good)
        grain = material(self.material).density
        if not self.density < grain:
            raise InputError(
                f"soil {self.name!r}: density",
                self.density,
                f"below {grain:g} kg/m^3, the density of its grains, {self.material!r}",
            )

    @property
    def loose_density(self) -> float:
        """Density of what was dug, kg/m^3."""
        return self.density / self.swell

    def density_under(self, pressure: float) -> float:
        """Return the density (kg/m^3) that soil has once `pressure` (Pa) was borne by it.

        The line of virgin compression through bank density at `preconsolidation`,
        e = e_0 - C_c log10(p / p_c) [Das08] (6.5), from loose density to that of the grains.
        Soil that is denser already stays so.
        """
        solid = material(self.material).density
        if pressure <= 0.0:
            return self.loose_density
        fall = self.compaction * math.log10(pressure / self.preconsolidation)
        volume = max(solid / self.density - fall, 1.0)
        return max(solid / volume, self.loose_density)

    def grains(self) -> Material:
        """Return the material of grains (solver p2) that heap up and cohere as this soil does."""
        law = calibrate(self.material, self.repose_angle)
        return law.replace(
            name=self.name,
            adhesion=ADHESION_PER_COHESION * self.cohesion,
            source=f"grains of soil {self.name!r}",
        )

    def replace(self, **changes: object) -> Soil:
        """Return a copy with some values changed."""
        fields = {field.name for field in dataclasses.fields(self)}
        checks.known(f"soil {self.name!r}: unknown property", changes, fields)
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]


SOILS: Registry[Soil] = Registry("soil")


def soil(name: str, **changes: object) -> Soil:
    """Return the preset called `name`, with changes: soil("loam", cohesion=3e3)."""
    preset = SOILS.get(name)
    return preset.replace(**changes) if changes else preset


# Bank density and swell (one over the load factor): Caterpillar Performance Handbook, tables of
# weights of materials. Pressure-sinkage, cohesion, friction: [Wong08] Tab. 2.3. Friction on steel
# about 2/3 of the soil's, adhesion a tenth to a third of cohesion: [McKyes85] ch. 2. Compression
# index: usual ranges, [Das08] ch. 6. Angles of repose of loose heaps: usual ranges, rounded.
for _preset in (
    Soil(
        "dry sand", material="dry sand", density=1600.0, swell=1.12,
        cohesion=0.0, friction_angle=31.1, repose_angle=31.0, tool_friction_angle=21.0,
        compaction=0.05, bekker_k_c=102.0e3, bekker_k_phi=5301.0e3, bekker_n=0.79,
        janosi_k=0.012,
        source="LETE sand: Wong 2008 Tab. 2.3, but without its c = 1.3 kPa, as dry sand does not "
        "stand; dry sand, load factor 0.89: Caterpillar",
    ),
    Soil(
        "gravel", material="gravel", density=1690.0, swell=1.12,
        cohesion=0.0, friction_angle=38.0, repose_angle=35.0, tool_friction_angle=25.0,
        compaction=0.03, bekker_k_c=102.0e3, bekker_k_phi=5301.0e3, bekker_n=0.79,
        janosi_k=0.025,
        source="friction angle 34-40 degrees: Das 2008; dry gravel, load factor 0.89: "
        "Caterpillar; pressure-sinkage of firm sand, as Wong's table has no gravel",
    ),
    Soil(
        "loam", material="loam", density=1540.0, swell=1.23,
        cohesion=6.1e3, friction_angle=26.6, repose_angle=35.0, tool_friction_angle=18.0,
        tool_adhesion=0.6e3, compaction=0.2, bekker_k_c=41.6e3, bekker_k_phi=2471.0e3,
        bekker_n=0.73, janosi_k=0.02,
        source="North Gower clayey loam, 46 % moisture: Wong 2008 Tab. 2.3; loam, load factor "
        "0.81: Caterpillar",
    ),
    Soil(
        "clay", material="clay", density=2020.0, swell=1.22,
        cohesion=30.0e3, friction_angle=15.0, repose_angle=38.0, tool_friction_angle=10.0,
        tool_adhesion=6.0e3, compaction=0.25, bekker_k_c=5.0e3, bekker_k_phi=454.0e3,
        bekker_n=0.17, janosi_k=0.013,
        source="lean clay between its states at 22 % (c = 69 kPa) and 32 % moisture (14 kPa), "
        "geometric means: Wong 2008 Tab. 2.3; clay in natural bed, load factor 0.82: Caterpillar",
    ),
    Soil(
        "topsoil", material="loam", density=1370.0, swell=1.43,
        cohesion=3.3e3, friction_angle=33.7, repose_angle=36.0, tool_friction_angle=22.0,
        tool_adhesion=0.3e3, compaction=0.3, preconsolidation=50.0e3, bekker_k_c=74.6e3,
        bekker_k_phi=2080.0e3, bekker_n=1.10, janosi_k=0.025,
        source="upland sandy loam, 51 % moisture: Wong 2008 Tab. 2.3; top soil, load factor "
        "0.70: Caterpillar",
    ),
):  # fmt: skip
    SOILS.register(_preset.name)(_preset)
