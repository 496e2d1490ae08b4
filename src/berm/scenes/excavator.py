"""An excavator digs soil and loads a truck: ground turns to grains under its bucket and back.

[Holz14] Sec. 6.6 and Fig. 6: a machine in cohesive soil on a hybrid of grid and grains.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import Field

from berm.core.report import StepReport
from berm.machines.base import add
from berm.machines.operator import Leg
from berm.scenes.base import SCENES, Outcome, Scene
from berm.scenes.loader import machine_of
from berm.scenes.parts.digging import (
    READY,
    GroundParams,
    Way,
    bucket,
    ground_outcomes,
    legs_along,
    observe_ground,
)
from berm.scenes.parts.driving import EXCAVATOR_KEYS, drive_excavator
from berm.scenes.parts.history import History
from berm.world.world import World

TRUCK = (1.15, 6.4)  # m: its bed is 1.15 m behind its origin
SIDE = 90.0  # degrees from the trench to the truck
FAR, NEAR = 8.2, 5.4  # m from the axis of the swing: where a bucket begins and ends
DEEP, DEEPER = 0.35, 0.25  # m: depth of the first bucket, and what each adds
FILL = (0.6, 1.4)  # of the struck capacity
STOP = 1.0  # s at the end
LEAN, CLOSED = 20.0, 2e-3  # degrees and m


class ExcavatorParams(GroundParams):
    """Parameters of the ground and the work."""

    buckets: int = Field(2, ge=1, le=10, description="buckets that are loaded")


@SCENES.register("excavator")
class Excavator(Scene[ExcavatorParams]):
    """A scripted operator digs a trench and loads a truck, or a person does."""

    name: ClassVar[str] = "excavator"
    summary: ClassVar[str] = "an excavator digs soil and loads a truck (berm view excavator)"
    seconds: ClassVar[float] = 55.0
    Params: ClassVar[type[ExcavatorParams]] = ExcavatorParams
    keys: ClassVar[tuple[tuple[str, str], ...]] = EXCAVATOR_KEYS
    needs: ClassVar[frozenset[str]] = frozenset({"bodies", "joints", "grains", "ground"})

    def duration(self, params: ExcavatorParams) -> float:
        """So long as the buckets take."""
        return sum(seconds for _, _, seconds in self._way(params)) + STOP

    def _way(self, params: ExcavatorParams) -> Way:
        return [("get ready", READY, 2.5)] + [
            leg for k in range(params.buckets)
            for leg in bucket(k + 1, NEAR, FAR, DEEP + k * DEEPER, SIDE)
        ]  # fmt: skip

    def fill(self, world: World, params: ExcavatorParams) -> None:
        """Lay the ground, and put excavator and truck on it."""
        terrain = world.add_terrain(params.ground((17.0, 15.0), (3.0, 2.5)))
        digger = add(world, "excavator", (0.0, 0.0, 0.02), name="excavator")
        truck = add(world, "truck", (*TRUCK, 0.02), name="truck")
        truck.command(brake=1.0)
        terrain.add_tool(digger.bodies["bucket"])
        digger.follow([*legs_along(self._way(params), READY), Leg("stop", {}, STOP)])
        self.drive(world, params)

    def control(self, world: World, params: ExcavatorParams) -> None:
        """Let a person take the levers from the operator."""
        digger = machine_of(world, "excavator")
        assert digger.operator is not None
        if world.inputs.by_hand:
            digger.operator.on = False
            drive_excavator(digger, world.inputs)

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """What the machine does, and what becomes of the ground."""
        digger, truck = machine_of(world, "excavator"), machine_of(world, "truck")
        force = digger.bodies["bucket"].force_from("grains")
        up = digger.bodies["house"].rotation[2, 2]
        return {
            "load": digger.load,
            "in the truck": truck.load,
            "force on the bucket": float(np.linalg.norm(force)),
            "swing": math.degrees(float(digger.sensors()["swing"])),
            "lean": math.degrees(math.acos(min(float(up), 1.0))),
            "joints": max(joint.error for joint in digger.joints.values()),
        } | observe_ground(world, report)

    def check(self, world: World, history: History) -> list[Outcome]:
        """Buckets were full, the truck has what they held, the machine stands, nothing is lost."""
        params: ExcavatorParams = history.params
        assert world.terrain is not None
        digger = machine_of(world, "excavator")
        struck = digger.design.tools["bucket"].struck * world.terrain.soils[0].density
        loaded = float(history["in the truck"][-1])
        fill = loaded / (params.buckets * struck)
        lean, error = float(history["lean"].max()), float(history["joints"].max())
        return [
            Outcome("fill of a bucket, of struck capacity as it lay", FILL[0] <= fill <= FILL[1],
                    fill, f"{FILL[0]:g} to {FILL[1]:g}"),
            Outcome("the machine leans by", lean < LEAN, lean, f"below {LEAN:g}", "degrees"),
            Outcome("joints open by", error < CLOSED, error, f"below {CLOSED:g}", "m"),
            *ground_outcomes(world, history),
        ]  # fmt: skip
