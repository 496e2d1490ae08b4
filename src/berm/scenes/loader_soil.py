"""A wheel loader drives into a stockpile of soil, fills its bucket and backs out.

The pile is ground that turns to grains around the bucket; it lies on ground that cannot be dug.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from berm.core.report import StepReport
from berm.core.soil import soil
from berm.machines.base import add
from berm.machines.machine import Machine
from berm.machines.operator import Leg
from berm.scenes.base import SCENES, Outcome, Scene
from berm.scenes.loader import REV, ahead, at, back, machine_of, pose, ram
from berm.scenes.parts.digging import GroundParams, ground_outcomes, observe_ground
from berm.scenes.parts.driving import KEYS, drive_loader
from berm.scenes.parts.history import History
from berm.world.world import World

Array = npt.NDArray[Any]

FOOT = 7.5  # m from the loader's middle to the pile at the start
LONG, WIDE = 22.0, 14.0  # m of ground
LEAN, CLOSED = 15.0, 2e-3  # degrees and m
FILL = (0.8, 1.1)  # of the heaped capacity, of loose soil


class LoaderSoilParams(GroundParams):
    """Parameters of the pile."""

    soil: Literal["dry sand", "gravel", "loam", "clay", "topsoil"] = Field(
        "gravel", description="soil of the pile"
    )
    grain: float = Field(0.07, ge=0.03, le=0.15, description="radius of grains around tools (m)")
    height: float = Field(2.5, ge=1.0, le=5.0, description="height of the pile (m)")

    def pile(self, x: Array, y: Array) -> Array:
        """Heights (m) of a cone that lies as steep as its soil does."""
        slope = math.tan(math.radians(soil(self.soil).repose_angle))
        middle = FOOT + self.height / slope
        found: Array = np.maximum(self.height - slope * np.hypot(x - middle, y), 0.0)
        return found


@SCENES.register("loader-soil")
class LoaderSoil(Scene[LoaderSoilParams]):
    """A scripted operator fills the bucket and backs out, or a person does."""

    name: ClassVar[str] = "loader-soil"
    summary: ClassVar[str] = "a wheel loader fills its bucket with soil (berm view loader-soil)"
    seconds: ClassVar[float] = 22.0
    Params: ClassVar[type[LoaderSoilParams]] = LoaderSoilParams
    keys: ClassVar[tuple[tuple[str, str], ...]] = KEYS
    needs: ClassVar[frozenset[str]] = frozenset({"bodies", "joints", "grains"})

    def fill(self, world: World, params: LoaderSoilParams) -> None:
        """Heap up the pile, and put the loader before it."""
        middle = (0.5 * LONG - 6.0, 0.0)
        terrain = world.add_terrain(params.ground((LONG, WIDE), middle, params.pile, rock=0.0))
        loader = add(world, "loader", (0.0, 0.0, 0.02), pose="carry", name="loader")
        terrain.add_tool(loader.bodies["bucket"])
        loader.follow(job())
        self.drive(world, params)

    def control(self, world: World, params: LoaderSoilParams) -> None:
        """Let a person take the levers from the operator."""
        loader = machine_of(world, "loader")
        assert loader.operator is not None
        if world.inputs.by_hand:
            loader.operator.on = False
            drive_loader(loader, world.inputs)

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """What the loader does, and what becomes of the pile."""
        loader = machine_of(world, "loader")
        now, up = loader.sensors(), loader.bodies["rear_frame"].rotation[2, 2]
        assert loader.operator is not None
        return {
            "x": float(now["position"][0]),
            "z": float(now["position"][2]),
            "speed": now["speed"],
            "load": now["load"],
            "edge": float(loader.tools["bucket"].tip[2]),
            "lift": now["lift"],
            "tilt": now["tilt"],
            "force on the bucket": -float(loader.bodies["bucket"].force_from("grains")[0]),
            "lean": math.degrees(math.acos(min(float(up), 1.0))),
            "joints": max(joint.error for joint in loader.joints.values()),
            "leg": loader.operator.leg,
        } | observe_ground(world, report)

    def check(self, world: World, history: History) -> list[Outcome]:
        """The bucket is full, the loader stands, nothing is lost."""
        assert world.terrain is not None
        loader = machine_of(world, "loader")
        assert loader.operator is not None
        heaped = loader.design.tools["bucket"].heaped * world.terrain.soils[0].loose_density
        load = float(history["load"][-1])
        lean, error = float(history["lean"].max()), float(history["joints"].max())
        return [
            Outcome("legs of the job that were not reached", loader.operator.missed == 0,
                    loader.operator.missed, "0"),
            Outcome("fill of the bucket, of heaped capacity", FILL[0] <= load / heaped <= FILL[1],
                    load / heaped, f"{FILL[0]:g} to {FILL[1]:g}"),
            Outcome("the loader leans by", lean < LEAN, lean, f"below {LEAN:g}", "degrees"),
            Outcome("joints open by", error < CLOSED, error, f"below {CLOSED:g}", "m"),
            *ground_outcomes(world, history),
        ]  # fmt: skip


# ---- the job ----------------------------------------------------------------------------------


def job() -> list[Leg]:
    """Lay the bucket down, drive in, fill it, back out."""
    brake = {"brake": 1.0}
    return [
        Leg("lay the bucket on the ground", lambda m: brake | pose(m, 1.10, 1.777), 2.5),
        Leg("drive into the pile", lambda m: ahead(0.6) | pose(m, 1.10, 1.777), _stuck, 12.0),
        Leg("fill the bucket", lambda m: ahead(0.5) | {"tilt": 1.0, "lift": 0.35}, _full, 8.0),
        Leg("lift it", lambda m: brake | REV | pose(m, 1.25, 2.05), 2.0),
        Leg("back out", lambda m: back(0.5) | pose(m, 1.30, 2.05), lambda m: at(m)[0] < -1.0),
        Leg("stop", brake, 2.0),
    ]  # fmt: skip


def _stuck(machine: Machine) -> bool:
    """Whether the bucket is deep in the pile, or the pile has stopped the loader."""
    x, speed = at(machine)[0], float(machine.sensors()["speed"])
    return bool(x > FOOT - 2.5 or (x > FOOT - 4.6 and speed < 0.25))


def _full(machine: Machine) -> bool:
    return ram(machine, "tilt") > 2.03 and ram(machine, "lift") > 1.2
