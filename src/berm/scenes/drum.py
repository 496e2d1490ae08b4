"""A rotating drum: the surface stays at the dynamic angle of repose (CASES B10)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import Field

from berm.core.motion import Spin
from berm.core.report import StepReport
from berm.core.shapes import Box, Cylinder, Mesh
from berm.scenes.base import SCENES, Outcome, Scene
from berm.scenes.parts.history import History
from berm.scenes.parts.params import GrainParams, inherited
from berm.solvers.p2.solver import P2
from berm.world.packings import lattice
from berm.world.world import World

GRAVITY = 9.81  # m/s^2
LOOSE = 0.55  # packing fraction from which the number of grains is estimated
LIE = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # turns axis z to -y


class DrumParams(GrainParams):
    """Parameters of the drum."""

    drum: float = Field(0.25, gt=0.0, le=10.0, description="radius of the drum (m)")
    width: float = Field(0.16, gt=0.0, le=10.0, description="length of the drum (m)")
    radius: float = inherited(GrainParams, "radius", 0.01)
    filling: float = Field(0.35, gt=0.05, le=0.7, description="share of the drum that is filled")
    froude: float = Field(
        0.01, gt=0.0, le=2.0, description="speed: omega^2 R / g (rolling 1e-4 to 1e-2)"
    )
    settle: float = Field(0.7, ge=0.1, le=100.0, description="time before the drum turns (s)")
    turns: float = Field(0.6, gt=0.0, le=100.0, description="turns of the drum")

    @property
    def omega(self) -> float:
        """Angular speed, rad/s."""
        return math.sqrt(self.froude * GRAVITY / self.drum)


@SCENES.register("drum")
class Drum(Scene[DrumParams]):
    """A drum with a rough mantle and smooth ends turns about its level axis."""

    name: ClassVar[str] = "drum"
    summary: ClassVar[str] = "grains in a turning drum keep the dynamic angle of repose"
    seconds: ClassVar[float] = 6.7
    Params: ClassVar[type[DrumParams]] = DrumParams

    def duration(self, params: DrumParams) -> float:
        """Settle and turn."""
        return round(params.settle + params.turns * 2 * math.pi / params.omega, 1)

    def fill(self, world: World, params: DrumParams) -> None:
        """Add the drum, partly filled and at rest."""
        law = params.soil(world)
        large = params.radii[1]
        world.add_body(
            # longer than the space between the plates, so that the seam is tight
            Cylinder(
                params.drum,
                params.width + 4 * large,
                inside=True,
                open_ends=True,
                wall=params.drum,
            ),
            name="mantle",
            material="rough wall",
            rotation=LIE,
            motion=Spin((0.0, 1.0, 0.0), params.omega, start=params.settle),
        )
        # a smooth mantle would slip under the bed as a whole
        world.add_body(
            teeth(params.drum, params.width + 4 * large, 1.2 * params.radius, 5 * params.radius),
            name="teeth",
            material="rough wall",
            motion=Spin((0.0, 1.0, 0.0), params.omega, start=params.settle),
        )
        plate = Box((4 * params.drum, 4 * large, 4 * params.drum))
        for name, side in (("front", -1.0), ("back", 1.0)):
            offset = side * (params.width / 2 + 2 * large)
            world.add_body(
                plate, name=name, material=law.replace(friction=0.0, adhesion=0.0),
                position=(0.0, offset, 0.0),
            )  # fmt: skip
        volume = params.filling * math.pi * params.drum**2 * params.width
        count = int(LOOSE * volume / (4 / 3 * math.pi * params.radius**3))
        half = params.width / 2
        place, radii = lattice(
            (-params.drum, -half, -params.drum), (params.drum, half, params.drum),
            (2 * params.radius - large, large), 0.02, params.seed, "hexagonal",
        )  # fmt: skip
        inside = np.hypot(place[:, 0], place[:, 2]) < params.drum - large - 1.2 * params.radius
        chosen = np.argsort(place[inside, 2], kind="stable")[:count]
        world.add_grains(place[inside][chosen], radii[inside][chosen], material=law)

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """Angle of the surface (degrees), weight on the drum (N), torque and its cause (N m)."""
        turning = (world.body("mantle"), world.body("teeth"))
        grains = world.grains
        return {
            "angle": surface_angle(world),
            "weight": -sum(float(body.force[2]) for body in world.bodies),
            "torque": sum(float(body.torque[1]) for body in turning),
            "lifted": GRAVITY * float(grains.mass @ grains.position[:, 0].astype(float)),
            "couples": couples(world),
        }

    def check(self, world: World, history: History) -> list[Outcome]:
        """Steady at the angle of a heap; the drum feels the weight and the lifted bed."""
        params: DrumParams = history.params
        span = 0.4 * params.turns * 2 * math.pi / params.omega
        angle, weight = history.last("angle", span), history.last("weight", span)
        friction = params.soil(world).friction_kinetic
        low = 0.8 * math.degrees(math.atan(friction))
        angle = angle[np.isfinite(angle)]
        mean, scatter = (float(angle.mean()), float(angle.std())) if len(angle) else (math.nan,) * 2
        grains = world.grains
        needed = float(grains.mass.sum()) * GRAVITY
        felt = float(weight.mean())
        torque = float(history.last("torque", span).mean())
        lifted = float(history.last("lifted", span).mean())
        exact = lifted + float(history.last("couples", span).mean())
        stirred = float(np.linalg.norm(grains.velocity, axis=1).mean()) / (
            params.omega * params.drum
        )
        where = grains.position
        out = int((np.hypot(where[:, 0], where[:, 2]) > params.drum).sum())
        return [
            Outcome("dynamic angle of repose", low < mean < 50.0, mean, f"{low:.0f} to 50",
                    "degrees"),
            Outcome("scatter of the angle", scatter < 4.0, scatter, "below 4", "degrees"),
            Outcome("force on the drum / weight", abs(felt / needed - 1) < 0.03, felt / needed,
                    "1 +- 3 %"),
            # without the couples it would be m g times the centre's distance from the axis
            Outcome("torque on the drum", abs(torque / exact - 1) < 0.05, torque,
                    f"{exact:.2f} +- 5 %: {lifted:.2f} of the lifted bed, the rest keeps grains "
                    "from turning", "N m"),
            Outcome("mean speed / speed of the mantle", stirred > 0.3, stirred,
                    "above 0.3: the bed turns, it does not slip"),
            Outcome("grains outside", out == 0, out, "0"),
        ]  # fmt: skip


def teeth(radius: float, length: float, depth: float, pitch: float) -> Mesh:
    """Return a zigzag lining (m) of a drum about y: ridges `depth` high every `pitch`."""
    number = 2 * max(3, round(2 * math.pi * radius / pitch))
    turn = 2 * math.pi * np.arange(number) / number
    reach = radius - depth * (np.arange(number) % 2)
    ring = np.column_stack([reach * np.cos(turn), np.zeros(number), reach * np.sin(turn)])
    ends = np.array([0.0, 0.5 * length, 0.0])
    vertices = np.vstack([ring - ends, ring + ends])
    here = np.arange(number)
    there = (here + 1) % number
    faces = np.vstack([
        np.column_stack([here, there, here + number]),
        np.column_stack([there, there + number, here + number]),
    ])  # fmt: skip
    return Mesh(vertices, faces, two_sided=True)


def couples(world: World) -> float:
    """Torque about y (N m) that keeps the grains from turning: of friction at their surfaces.

    In the last substep; not a number where the solver does not keep the contacts' impulses.
    """
    solver = world.solver
    if not isinstance(solver, P2) or not solver.form.conserving:
        return math.nan
    pairs, walls, grains = solver.contacts, solver.walls, world.grains
    slices = np.repeat(np.arange(len(pairs.ptr) - 1), np.diff(pairs.ptr))
    i, j = pairs.lanes.reshape(-1, 8)[slices], pairs.nbr.reshape(-1, 8)[: len(slices)]
    push = pairs.imp.reshape(-1, 3, 8)[: len(slices)].transpose(0, 2, 1).astype(float)
    where = grains.x[:, :3].astype(float)
    arm = np.where((i != j)[..., None], where[i] - where[j], 0.0)
    total = (arm[..., 2] * push[..., 0] - arm[..., 0] * push[..., 2]).sum()
    used = np.arange(walls.rows.shape[1]) < walls.count[:, None]
    radius = grains.x[walls.rows[used], 3].astype(float)[:, None]
    arm, push = radius * walls.plane[used][:, :3], walls.impulse[used].astype(float)
    total += (arm[:, 2] * push[:, 0] - arm[:, 0] * push[:, 2]).sum()
    return float(total) * (solver.taken / world.dt) ** 2


def surface_angle(world: World) -> float:
    """Angle (degrees) of the line through the surface in the middle of the drum."""
    where = world.grains.position.astype(float)
    radii = world.grains.radius.astype(float)
    left, right = where[:, 0].min(), where[:, 0].max()
    # the middle half: the ends of the surface bend
    edges = np.linspace(left + 0.25 * (right - left), right - 0.25 * (right - left), 13)
    cell = np.digitize(where[:, 0], edges) - 1
    tops = [
        np.sort((where[:, 2] + radii)[cell == k])[-4:].mean() if (cell == k).sum() >= 4 else np.nan
        for k in range(12)
    ]
    middle = 0.5 * (edges[1:] + edges[:-1])
    known = np.isfinite(tops)
    if known.sum() < 3:
        return math.nan
    gradient = np.polyfit(middle[known], np.array(tops)[known], 1)[0]
    return math.degrees(math.atan(abs(gradient)))
