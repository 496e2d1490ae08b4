"""A bulldozer cuts into level ground and pushes a heap before it: ground, grains, ground again.

A blade holds 0.8 width height^2 [SAE J1265], but no more than what runs off at its ends leaves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from berm.core.report import StepReport
from berm.machines.base import add
from berm.machines.dozer import SPEED as TOP
from berm.machines.dozer import WIDTH
from berm.machines.machine import Machine
from berm.machines.operator import Leg
from berm.scenes.base import SCENES, Outcome, Scene
from berm.scenes.loader import machine_of
from berm.scenes.parts.digging import GroundParams, ground_outcomes, observe_ground
from berm.scenes.parts.driving import DOZER_KEYS, drive_dozer
from berm.scenes.parts.history import History
from berm.world.terrain.terrain import Terrain
from berm.world.world import World

BEGIN = 2.66  # m: where the edge is at the start, with the machine at the origin
RAMP = 3.0  # m in which the edge goes down to its depth
CUTTING = 0.5  # of the way; then the edge stays where the ground was, and carries
CATCH = 1.1  # grain radii: so much deeper than its edge goes a blade cuts, for grains catch on it
REACH, BELOW = 0.5, 4.0  # of the zone: m, so that tracks stay on the ground; grain radii
GAIN = 6.0  # lever a metre that the edge is too low
SPEED = 0.3  # of the tracks' full speed
AWAY = 9.0  # m that it backs off: from all the grains that it stood on
WIDE = 9.0  # m of ground
LEAN, CLOSED = 15.0, 2e-3  # degrees and m
DRAWBAR = 0.7  # of its weight: what tracks hold on the ground
FORCE = (0.1, 1.0)  # on the blade, of the drawbar
GRAVITY = 9.81  # m/s^2
PUSH = 1  # number of that leg
DEPTH = (0.7, 1.3)  # of the cut, of what is wanted
FILL = (0.6, 1.4)  # of what the blade can push


class DozerParams(GroundParams):
    """Parameters of the ground and the work."""

    soil: Literal["dry sand", "gravel", "loam", "clay", "topsoil"] = Field(
        "dry sand", description="soil of the ground"
    )
    grain: float = Field(0.06, ge=0.03, le=0.15, description="radius of grains around tools (m)")
    way: float = Field(20.0, ge=8.0, le=60.0, description="how far it pushes (m)")
    cut: float = Field(0.12, ge=0.05, le=0.3, description="depth of the cut (m)")

    def edge(self, along: float) -> float:
        """Height (m) of the cutting edge wanted after so much of its way (m)."""
        if along > CUTTING * self.way:
            return 0.0
        return CATCH * self.grain - self.cut * min(max(along, 0.0) / RAMP, 1.0)


@SCENES.register("dozer")
class Dozer(Scene[DozerParams]):
    """A scripted operator cuts, pushes and backs off, or a person does."""

    name: ClassVar[str] = "dozer"
    summary: ClassVar[str] = "a bulldozer cuts and pushes soil (berm view dozer)"
    seconds: ClassVar[float] = 48.0
    Params: ClassVar[type[DozerParams]] = DozerParams
    keys: ClassVar[tuple[tuple[str, str], ...]] = DOZER_KEYS
    needs: ClassVar[frozenset[str]] = frozenset({"bodies", "joints", "grains"})

    def duration(self, params: DozerParams) -> float:
        """So long as the way takes, and backing off."""
        return 1.25 * (params.way + AWAY) / (SPEED * TOP) + 5.0

    def fill(self, world: World, params: DozerParams) -> None:
        """Lay the ground, and put the bulldozer on it."""
        long = params.way + 12.0
        terrain = world.add_terrain(params.ground((long, WIDE), (0.5 * long - 5.0, 0.0)))
        dozer = add(world, "dozer", (0.0, 0.0, 0.02), name="dozer")
        terrain.add_tool(dozer.bodies["blade"], REACH, BELOW * params.grain)
        dozer.follow(job(params))
        self.drive(world, params)

    def control(self, world: World, params: DozerParams) -> None:
        """Let a person take the levers from the operator."""
        dozer = machine_of(world, "dozer")
        assert dozer.operator is not None
        if world.inputs.by_hand:
            dozer.operator.on = False
            drive_dozer(dozer, world.inputs)

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """What the machine does, and what becomes of the ground."""
        dozer = machine_of(world, "dozer")
        now, up = dozer.sensors(), dozer.bodies["frame"].rotation[2, 2]
        assert dozer.operator is not None and world.terrain is not None
        return {
            "x": float(now["position"][0]),
            "z": float(now["position"][2]),
            "speed": now["speed"],
            "load": now["load"],
            "edge": float(dozer.tools["blade"].tip[2]),
            "force on the blade": -float(dozer.bodies["blade"].force_from("grains")[0]),
            "traction": now["left_traction"] + now["right_traction"],
            "lean": math.degrees(math.acos(min(float(up), 1.0))),
            "joints": max(joint.error for joint in dozer.joints.values()),
            "leg": dozer.operator.leg,
            "lane": depth_of_lane(world.terrain),
        } | observe_ground(world, report)

    def check(self, world: World, history: History) -> list[Outcome]:
        """It pushed what its blade takes, cut as deep as it should, and nothing is lost."""
        params: DozerParams = history.params
        assert world.terrain is not None
        dozer, soil = machine_of(world, "dozer"), world.terrain.soils[0]
        assert dozer.operator is not None
        push = history["leg"] == PUSH
        cut = float(history["lane"][push][-1]) / params.cut if push.any() else 0.0
        swept = params.cut * WIDTH * (CUTTING * params.way - 0.5 * RAMP) * soil.density
        most = soil.loose_density * min(
            dozer.design.tools["blade"].heaped, half_cone(WIDTH, soil.repose_angle)
        )
        heap = float(history["load"][push][-1]) if push.any() else 0.0
        full = heap / min(swept, most)
        late = push & (history["x"] > 0.5 * params.way)
        force = float(history["force on the blade"][late].mean()) if late.any() else 0.0
        pull = force / (DRAWBAR * dozer.mass * GRAVITY)
        steady = history["speed"][push & (history["x"] > 0.5)]
        slow = float(steady.min()) if len(steady) else 0.0
        lean, error = float(history["lean"].max()), float(history["joints"].max())
        live = float(history["live grains"].max())
        return [
            Outcome("legs of the job that were not reached", dozer.operator.missed == 0,
                    dozer.operator.missed, "0"),
            Outcome("soil pushed, of what it can push", FILL[0] <= full <= FILL[1],
                    full, f"{FILL[0]:g} to {FILL[1]:g}"),
            Outcome("depth of the cut, of what is wanted", DEPTH[0] <= cut <= DEPTH[1], cut,
                    f"{DEPTH[0]:g} to {DEPTH[1]:g}"),
            Outcome("force on the blade, of the drawbar", FORCE[0] <= pull <= FORCE[1], pull,
                    f"{FORCE[0]:g} to {FORCE[1]:g}"),
            Outcome("slowest while it pushes", slow > 0.0, slow, "above 0", "m/s"),
            Outcome("grains that lived at once", live <= params.most, live,
                    f"at most {params.most}"),
            Outcome("the bulldozer leans by", lean < LEAN, lean, f"below {LEAN:g}", "degrees"),
            Outcome("joints open by", error < CLOSED, error, f"below {CLOSED:g}", "m"),
            *ground_outcomes(world, history),
        ]  # fmt: skip


def half_cone(width: float, angle: float) -> float:
    """Volume (m^3) of a heap before a blade of `width` (m) that runs off at both of its ends.

    Its slopes are `angle` (degrees) steep: the half of a cone that is as wide as the blade.
    """
    return math.pi / 6.0 * (0.5 * width) ** 3 * math.tan(math.radians(angle))


def depth_of_lane(terrain: Terrain) -> float:
    """Depth (m) of the ground in the middle of the lane, along the first metre of the full cut."""
    x, y = (
        origin + terrain.cell * np.arange(n)
        for origin, n in zip(terrain.origin, terrain.heights.shape, strict=True)
    )
    along = np.abs(x - (BEGIN + RAMP + 0.5)) < 0.5
    return -float(terrain.surface[np.ix_(along, np.abs(y) < 0.25 * WIDTH)].mean())


# ---- the job ----------------------------------------------------------------------------------


def job(params: DozerParams) -> list[Leg]:
    """Cut and carry over the way, stop, back off."""

    def push(machine: Machine) -> Mapping[str, float]:
        return {"drive": SPEED} | blade_at(machine, params.edge(_way(machine)))

    return [
        Leg("lower the blade", lambda m: blade_at(m, 0.0), 1.0),
        Leg("push", push, lambda m: _way(m) > params.way, 2.0 * params.way),
        Leg("stop", lambda m: blade_at(m, 0.0), 1.0),
        Leg("lift and back off", {"drive": -SPEED, "lift": 1.0},
            lambda m: _way(m) < params.way - AWAY),
        Leg("park", {}, 2.0),
    ]  # fmt: skip


def blade_at(machine: Machine, height: float) -> dict[str, float]:
    """Lever that brings the cutting edge to a height (m), as grade control does."""
    low = height - float(machine.tools["blade"].edge[:, 2].min())
    return {"lift": min(max(GAIN * low, -1.0), 1.0)}


def _way(machine: Machine) -> float:
    return float(machine.tools["blade"].tip[0]) - BEGIN
