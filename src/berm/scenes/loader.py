"""A wheel loader drives into a pile of rocks, loads a truck, and drives over rocks.

[Lacoursiere10] Fig. 3: machine and rocks as one multibody system, in steps of 1/60 s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from berm.core.bodies import Body
from berm.core.materials import Material, material
from berm.core.report import StepReport
from berm.core.shapes import Plane
from berm.machines.base import add
from berm.machines.machine import Machine
from berm.machines.operator import Leg, levers_to, steer_along, steer_to
from berm.scenes.base import SCENES, Outcome, Scene, Usual
from berm.scenes.parts.driving import KEYS, drive_loader
from berm.scenes.parts.history import History
from berm.scenes.parts.params import SceneParams
from berm.world import measure
from berm.world.rocks import add_rocks
from berm.world.world import World

Array = npt.NDArray[np.float64]

PILE = (11.0, 0.0)  # m, middle of the pile; the loader starts at the origin and looks at it
LINE = -3.5  # m: the x along which the loader goes to the truck
TRUCK = (LINE + 1.15, 9.5)  # m: its bed is 1.15 m behind its origin
FIELD = ((-14.5, 1.5), (8, 5))  # middle (m) and numbers along and across of strewn rocks
REV = {"throttle": 0.8}  # out of gear: the pump turns with the engine
STREWN = (0.2, 0.35)  # m, sizes of those
DUMPING = 4.3  # m from the loader's middle to that of the bed
TIP = 45.0  # degrees: a machine that leans more has fallen over
CLOSED = 1e-3  # m, of joints
DEEP = 0.05  # of a body's size
TYRE = 1.36  # m: the smaller ones, of the truck


class LoaderParams(SceneParams):
    """Parameters of rocks and ground."""

    rocks: int = Field(500, ge=20, le=5000, description="rocks in the pile")
    strewn: int = Field(40, ge=0, le=400, description="rocks that it drives over at the end")
    size: float = Field(0.42, ge=0.2, le=0.8, description="mean size of the rocks (m)")
    spread: float = Field(0.3, ge=0.0, le=0.6, description="sizes vary by this to both sides")
    friction: float = Field(0.7, ge=0.1, le=1.5, description="friction coefficient of rocks")
    rolling: float = Field(0.02, ge=0.0, le=0.5, description="rolling friction of rocks")
    density: float = Field(2600.0, ge=500.0, le=8000.0, description="density of rocks (kg/m^3)")
    settle: float = Field(5.0, ge=0.0, le=60.0, description="time for the pile to come to rest (s)")

    @property
    def sizes(self) -> tuple[float, float]:
        """Smallest and largest rock, m."""
        return self.size * (1.0 - self.spread), self.size * (1.0 + self.spread)

    def stone(self) -> Material:
        """What rocks and ground are made of."""
        return material(
            "gravel", friction=self.friction, density=self.density, adhesion=0.0,
            rolling_friction=self.rolling,
        )  # fmt: skip


@SCENES.register("loader")
class Loader(Scene[LoaderParams]):
    """A scripted operator fills the bucket, lifts, turns, dumps and drives away; or a person."""

    name: ClassVar[str] = "loader"
    summary: ClassVar[str] = "a wheel loader takes rocks from a pile to a truck (berm view loader)"
    seconds: ClassVar[float] = 75.0
    Params: ClassVar[type[LoaderParams]] = LoaderParams
    keys: ClassVar[tuple[tuple[str, str], ...]] = KEYS
    solver: ClassVar[str] = "nonsmooth"
    needs: ClassVar[frozenset[str]] = frozenset({"bodies", "joints"})
    usual: ClassVar[Usual] = {"nonsmooth": {"merging": True, "sweeps": 30}}

    def fill(self, world: World, params: LoaderParams) -> None:
        """Drop the rocks, and put loader and truck in their places."""
        stone = params.stone()
        world.add_body(Plane(), name="ground", material=stone)
        side = max(4, round((params.rocks / 5) ** 0.5))
        add_rocks(
            world, params.rocks, params.sizes, seed=params.seed, base=(*PILE, 0.02),
            across=(side, side), material=stone,
        )  # fmt: skip
        if params.strewn:
            (x, y), (nx, ny) = FIELD
            add_rocks(
                world, params.strewn, STREWN, seed=params.seed + 1, base=(x, y, 0.02),
                across=(nx, ny), material=stone, name="strewn",
            )  # fmt: skip
        machine = add(world, "loader", pose="carry", name="loader")
        truck = add(world, "truck", (*TRUCK, 0.0), name="truck")
        truck.command(brake=1.0)
        machine.follow(job(params.settle))
        self.drive(world, params)

    def control(self, world: World, params: LoaderParams) -> None:
        """Let a person take the levers from the operator."""
        machine = machine_of(world, "loader")
        assert machine.operator is not None
        if world.inputs.by_hand:
            machine.operator.on = False
            drive_loader(machine, world.inputs)

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """What the loader does, and what the checks ask for."""
        machine = machine_of(world, "loader")
        now = machine.sensors()
        assert machine.operator is not None
        frame = machine.bodies["rear_frame"].rotation
        return {
            "x": float(now["position"][0]),
            "y": float(now["position"][1]),
            "speed": now["speed"],
            "load": now["load"],
            "lift force": now["lift.force"],
            "lean": math.degrees(math.acos(min(float(frame[2, 2]), 1.0))),
            "joints": max(joint.error for joint in machine.joints.values()),
            "overlap": report.overlap_share,
            "tyres": report.overlap_max,
            "leg": machine.operator.leg,
            "energy": measure.energy(world).total,
            "power": sum(one.power for one in world.machines if isinstance(one, Machine)),
        }

    def check(self, world: World, history: History) -> list[Outcome]:
        """Rocks in the truck, joints whole, nothing lost, nothing fallen over."""
        machine = machine_of(world, "loader")
        assert machine.operator is not None
        rocks = rocks_of(world)
        loaded = in_bed(world, rocks)
        mass = sum(one.mass for one in loaded)
        far = max(float(np.abs(one.position).max()) for one in rocks)
        low = min(float(one.position[2]) for one in rocks)
        lost = sum(
            not (abs(one.position[0]) < 60.0 and abs(one.position[1]) < 60.0
                 and one.position[2] > 0.0)
            for one in rocks
        )  # fmt: skip
        deep = float(history["overlap"].max())
        pressed = float(history["tyres"].max()) / TYRE
        lean = float(history["lean"].max())
        error = float(history["joints"].max())
        steps = np.diff(history["time"], prepend=0.0)
        work = np.cumsum(history["power"] * steps)
        energy = history["energy"]
        gained = energy - energy[0] - work
        scale = float(np.abs(energy[0]) + np.abs(history["power"] * steps).sum())
        return [
            Outcome("legs of the job that were not reached", machine.operator.missed == 0,
                    machine.operator.missed, "0"),
            Outcome("rocks in the truck", mass > 1000.0, mass, "above 1000", "kg"),
            Outcome("joints open by", error < CLOSED, error, f"below {CLOSED:g}", "m"),
            Outcome("rocks lost", lost == 0, lost, f"0 (lowest {low:.2g} m, farthest {far:.3g} m)"),
            Outcome("deepest overlap, of the smaller body's size", deep < DEEP, deep,
                    f"below {DEEP:g}"),
            Outcome("deepest overlap or pressing in of a tyre, of a tyre's size", pressed < DEEP,
                    pressed, f"below {DEEP:g}"),
            Outcome("the loader leans by", lean < TIP, lean, f"below {TIP:g}", "degrees"),
            Outcome("energy out of nothing, of what was turned over",
                    float(gained.max()) < 0.01 * scale, float(gained.max()) / scale, "below 0.01"),
        ]  # fmt: skip


# ---- the job --------------------------------------------------------------------------------


def job(settle: float) -> list[Leg]:
    """Fill the bucket in the pile, take it to the truck, and drive over the strewn rocks."""
    brake = {"brake": 1.0}
    (x, y), truck = FIELD[0], TRUCK[1]
    return [
        Leg("wait until the pile rests", brake, settle, settle + 1.0),
        Leg("lay the bucket on the ground", lambda m: brake | pose(m, 1.10, 1.777), 2.5),
        Leg("drive into the pile", lambda m: ahead(0.6) | pose(m, 1.10, 1.777), _stuck, 12.0),
        Leg("fill the bucket", lambda m: ahead(0.5) | {"tilt": 1.0, "lift": 0.35}, _full, 8.0),
        Leg("lift it", lambda m: brake | REV | pose(m, 1.25, 2.05), 2.0),
        Leg("back out", lambda m: back(0.6) | pose(m, 1.30, 2.05), lambda m: at(m)[0] < -1.0),
        Leg("turn to the truck",
            lambda m: back(0.5) | {"steer": steer_to(m, -0.5)} | pose(m, 1.3, 2.05),
            lambda m: facing(m) > 45.0, 15.0),
        Leg("stop", brake, _stands),
        Leg("lift", lambda m: brake | REV | pose(m, 1.92, 2.05),
            lambda m: ram(m, "lift") > 1.90, 12.0),
        Leg("go to the truck",
            lambda m: slowly(m, 0.8) | {"steer": steer_along(m, (LINE, 0.0), 90.0)},
            lambda m: at(m)[1] > truck - DUMPING - 0.15, 25.0),
        Leg("stop before it", brake, _stands),
        Leg("dump", lambda m: brake | REV | {"tilt": -1.0}, 4.0),
        Leg("lift the edge over the bed", lambda m: brake | REV | pose(m, 1.92, 2.05),
            lambda m: ram(m, "tilt") > 1.98, 6.0),
        Leg("back away", lambda m: back(0.5) | {"steer": steer_to(m, 0.0)},
            lambda m: at(m)[1] < truck - 7.0),
        Leg("stop again", brake, _stands),
        Leg("lower", lambda m: brake | REV | pose(m, 1.20, 2.0),
            lambda m: ram(m, "lift") < 1.22, 12.0),
        Leg("back farther", lambda m: back(0.6) | {"steer": steer_to(m, 0.0)},
            lambda m: at(m)[1] < y - 6.5),
        Leg("stop once more", brake, _stands),
        Leg("drive over rocks",
            lambda m: slowly(m, 1.2) | {"steer": steer_along(m, (0.0, y), 180.0)},
            lambda m: at(m)[0] < x - 5.0, 30.0),
        Leg("park", brake | {"lift": 0.0}, 3.0),
    ]  # fmt: skip


def ahead(throttle: float) -> dict[str, float]:
    """Controls to drive forward."""
    return {"gear": 1.0, "throttle": throttle}


def back(throttle: float) -> dict[str, float]:
    """Controls to drive backward."""
    return {"gear": -1.0, "throttle": throttle}


def slowly(machine: Machine, speed: float) -> dict[str, float]:
    """Controls to drive forward at a speed (m/s)."""
    now = float(machine.sensors()["speed"])
    lever = min(max(0.25 + 0.8 * (speed - now), 0.0), 1.0)
    return {"gear": 1.0, "throttle": lever, "brake": min(max(0.5 * (now - speed - 0.2), 0.0), 1.0)}


def pose(machine: Machine, lift: float, tilt: float) -> dict[str, float]:
    """Levers that bring boom and bucket to lengths (m) of their cylinders."""
    return levers_to(machine, {"lift": lift, "tilt": tilt})


def ram(machine: Machine, name: str) -> float:
    """Length (m) of a cylinder."""
    return machine.position(name)


def at(machine: Machine) -> Array:
    """Where the machine is, m."""
    where: Array = machine.sensors()["position"]
    return where


def facing(machine: Machine) -> float:
    """Degrees from x to where the machine looks."""
    return float(machine.sensors()["heading"])


def _stands(machine: Machine) -> bool:
    return abs(float(machine.sensors()["speed"])) < 0.05


def _stuck(machine: Machine) -> bool:
    """Whether the bucket is deep in the pile, or the pile has stopped the loader."""
    x, speed = at(machine)[0], float(machine.sensors()["speed"])
    return bool(x > PILE[0] - 6.5 or (x > 2.0 and speed < 0.25))


def _full(machine: Machine) -> bool:
    return ram(machine, "tilt") > 2.03 and ram(machine, "lift") > 1.2


# ---- what is checked ------------------------------------------------------------------------


def machine_of(world: World, name: str) -> Machine:
    """A machine of this world by its name."""
    found = next(one for one in world.machines if one.name == name)
    assert isinstance(found, Machine)
    return found


def rocks_of(world: World) -> list[Body]:
    """All rocks."""
    return [one for one in world.bodies if one.name.startswith(("rock", "strewn"))]


def in_bed(world: World, rocks: list[Body]) -> list[Body]:
    """Rocks that lie in the truck's bed."""
    bed = machine_of(world, "truck").bodies["bed"]
    corners = bed.shape.vertices
    low, high = corners.min(axis=0), corners.max(axis=0) + np.array([0.0, 0.0, 1.0])
    return [
        one for one in rocks
        if bool(np.all((w := bed.rotation.T @ (one.position - bed.position)) > low) and
                np.all(w < high))
    ]  # fmt: skip
