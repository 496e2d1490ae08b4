"""A bucket of loam is tilted and shaken: what sticks, and what comes off.

[Holz14] Fig. 6: soil that coheres stays in a tilted bucket, and accelerating motions release it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field
from scipy.interpolate import PchipInterpolator

from berm.core.materials import material
from berm.core.motion import Function, rotation_about
from berm.core.report import StepReport
from berm.machines.base import add_tool, design_of
from berm.machines.tool import Implement
from berm.scenes.base import SCENES, Outcome, Scene
from berm.scenes.parts.digging import GroundParams, ground_outcomes, observe_ground
from berm.scenes.parts.history import History
from berm.scenes.parts.params import inherited
from berm.world.world import World

Array = npt.NDArray[np.float64]

# s, way ahead and height of the edge (m), rake (degrees): dig, lift, tilt, and shake
DIG = (
    (0.0, 0.0, 0.15, 50.0), (1.0, 0.15, -0.30, 48.0), (2.6, 1.25, -0.38, 5.0),
    (3.8, 1.60, -0.15, -55.0), (5.8, 1.60, 2.60, -62.0),
)  # fmt: skip
CARRIED, TILTING, TILTED, END = 6.2, 6.4, 8.2, 11.7  # s: lifted, begins to tilt, has, is over
SHAKING = 9.7  # s: jerks begin
JERKS, JERK, SWING = 8, 0.1, 25.0  # how many, s each, degrees
MOUTH_DOWN = 118.0  # degrees of rake: upside down, of how it is carried
STICKS, FALLS = 0.02, 0.02  # of the load: more stays with adhesion, less without


class LoamParams(GroundParams):
    """Parameters of the soil and the steel."""

    grain: float = inherited(GroundParams, "grain", 0.04)
    adhesion: float = Field(
        8000.0, ge=0.0, le=1e5, description="adhesion of the bucket's steel to soil (Pa)"
    )


@SCENES.register("excavator-loam")
class ExcavatorLoam(Scene[LoamParams]):
    """The excavator's bucket alone, on a given way."""

    name: ClassVar[str] = "excavator-loam"
    summary: ClassVar[str] = "soil sticks in a tilted bucket until it is shaken (Fig. 6)"
    seconds: ClassVar[float] = END
    Params: ClassVar[type[LoamParams]] = LoamParams
    needs: ClassVar[frozenset[str]] = frozenset({"grains", "ground"})

    def fill(self, world: World, params: LoamParams) -> None:
        """Lay the ground and hang up the bucket."""
        terrain = world.add_terrain(params.ground((5.0, 4.0), (1.0, 0.0)))
        _, x, z, rake = DIG[0]
        bucket = add_tool(
            world, "excavator", Function(way), position=(x, 0.0, z), rake=rake, name="bucket"
        )
        steel = material("steel").replace(name="bucket steel", adhesion=params.adhesion)
        bucket.body.material = world.add_material(steel)
        terrain.add_tool(bucket.body)

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """What is in the bucket, and what becomes of the ground."""
        return {"load": bucket_of(world).load, **observe_ground(world, report)}

    def check(self, world: World, history: History) -> list[Outcome]:
        """Some of the load stays in the tilted bucket, and comes off when it is shaken."""
        params: LoamParams = history.params
        carried, tilted, left = loads(history)
        share, rest = tilted / max(carried, 1e-9), left / max(carried, 1e-9)
        sticks = params.adhesion >= 6000.0
        return [
            Outcome("load of the bucket", carried > 300.0, carried, "above 300", "kg"),
            Outcome("stays when tilted, of the load", share > STICKS if sticks else share < FALLS,
                    share, f"above {STICKS:g}" if sticks else f"below {FALLS:g}"),
            Outcome("left after shaking, of the load", rest < FALLS, rest, f"below {FALLS:g}"),
            *ground_outcomes(world, history),
        ]  # fmt: skip


def way(t: float) -> tuple[Array, Array]:
    """Displacement (m) and rotation of the bucket from where it hangs at first."""
    keys = np.array(DIG)
    x, z, rake = PchipInterpolator(keys[:, 0], keys[:, 1:])(min(max(t, 0.0), keys[-1, 0])).tolist()
    part = min(max((t - TILTING) / (TILTED - TILTING), 0.0), 1.0)
    rake += (MOUTH_DOWN - DIG[-1][3]) * part * part * (3.0 - 2.0 * part)
    if SHAKING <= t < SHAKING + JERKS * JERK:
        rake += SWING * math.sin(2.0 * math.pi * (t - SHAKING) / (2.0 * JERK))
    turn = rotation_about((0.0, 1.0, 0.0), math.radians(rake - DIG[0][3]))
    return np.array([x - DIG[0][1], 0.0, z - DIG[0][2]]), turn


def bucket_of(world: World) -> Implement:
    """The bucket in this world."""
    tool = design_of("excavator").tools["bucket"]
    return Implement(world, tool, world.body("bucket"), np.zeros(3), np.eye(3))


def loads(history: History) -> tuple[float, float, float]:
    """Load (kg) of the lifted, of the tilted, and of the shaken bucket."""
    t, load = history["time"], history["load"]
    found = [float(np.interp(at, t, load)) for at in (CARRIED, SHAKING - 0.05, END)]
    return found[0], found[1], found[2]
