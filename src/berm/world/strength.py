"""Strength of a bulk: cohesion and friction angle of a material, by plane-strain compression.

What a heap of grains withstands is not what one contact does. This is the laboratory's answer: a
block of the very grains, pressed between smooth plates without gravity at several confining
stresses, and Mohr-Coulomb's line through the largest axial stresses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.errors import InputError
from berm.core.materials import Material
from berm.core.motion import Steered
from berm.core.shapes import Plane
from berm.solvers.base import Solver
from berm.world.packings import random_drop
from berm.world.world import World

Array = npt.NDArray[np.float64]
AIR = 0.28  # packing fraction from which plates press the block together
DENSE = 0.6  # about what comes of it
SLIDING = 0.1  # largest friction coefficient while the block is made, so that it gets dense
STIFF = 0.3  # modulus of the block over k / r: only the plates' control needs it
ANSWER = 0.01  # s in which a plate makes good what its stress lacks
CLOSING = 0.25  # m/s: fastest plate
SETTLING = 1.0  # s that a block is given after its plates have closed on it, and at least ...
MAKING = 2.5  # ... s altogether
WINDOW = 0.01  # strain over which stresses are averaged
CONFINING = (1 / 3, 2 / 3, 4 / 3)  # of the adhesion: what acts in a cut that is about to fall
CONFINING_DRY = (2e3, 4e3, 8e3)  # Pa, without adhesion
PLATES = {  # of the block: what turns a plane's z axis inwards; the last two move
    "left": [[0, 0, 1], [0, 1, 0], [-1, 0, 0]],
    "front": [[1, 0, 0], [0, 0, 1], [0, -1, 0]],
    "floor": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "back": [[1, 0, 0], [0, 0, -1], [0, 1, 0]],
    "right": [[0, 0, -1], [0, 1, 0], [1, 0, 0]],
    "top": [[1, 0, 0], [0, -1, 0], [0, 0, -1]],
}
MOVING = (("right", 0), ("top", 2))


@dataclass(frozen=True)
class Strength:
    """Mohr-Coulomb's line tau = cohesion + sigma tan(angle), and the points that it was laid on."""

    cohesion: float  # Pa
    angle: float  # degrees
    confining: Array  # Pa, measured at failure
    axial: Array  # Pa, at failure
    overlap: float  # largest mean overlap at failure, in mean radii

    def cut(self, weight: float) -> tuple[float, float]:
        """Heights (m) below which a vertical cut must stand and above which it must fall.

        weight: of the bulk, N/m^3. 2 c / weight tan(45 + angle / 2), and twice as much.
        """
        low = 2.0 * self.cohesion / weight * math.tan(math.radians(45.0 + 0.5 * self.angle))
        return low, 2.0 * low


def block(
    size: Sequence[float],
    material: Material,
    pressure: float,
    radius: tuple[float, float] = (0.015, 0.025),
    dt: float = 1.0 / 240.0,
    seed: int = 0,
    solver: str | Solver = "p2",
) -> World:
    """Return a block of about `size` (m) between smooth plates under `pressure` (Pa), at rest.

    It is made without gravity, of grains with little friction and no adhesion, so that it is
    dense; then it gets its `material`. Bodies: left, front, floor, back, right and top.
    """
    if len(size) != 3 or min(size) < 6 * radius[1] * (1 - 1e-9):
        raise InputError("block: size", size, f"three lengths from {6 * radius[1]:g} m up")
    if not pressure > 0:
        raise InputError("block: pressure", pressure, "above 0, Pa")
    grow = math.sqrt(DENSE / AIR)
    room = np.array([grow * size[0], size[1], grow * size[2]])
    ball = 4.0 / 3.0 * math.pi * 0.25 * (radius[0] + radius[1]) * (radius[0] ** 2 + radius[1] ** 2)
    count = int(DENSE * float(np.prod(size)) / ball)
    place, radii = random_drop((0, 0, 0), room.tolist(), radius, count, seed)
    world = World(gravity=(0.0, 0.0, 0.0), dt=dt, solver=solver, seed=seed)
    slick = material.replace(friction=min(material.friction_kinetic, SLIDING), adhesion=0.0)
    world.add_grains(place, radii, material=slick)
    smooth = material.replace(name="smooth plate", friction=0.0, adhesion=0.0)
    for name, rotation in PLATES.items():
        axis = {"right": 0, "back": 1, "top": 2}.get(name)
        where = np.zeros(3)
        if axis is not None:
            where[axis] = room[axis]
        moves = Steered() if name in dict(MOVING) else None
        world.add_body(
            Plane(), name=name, material=smooth, position=where, rotation=rotation, motion=moves
        )
    closed = float((room - size).max()) / CLOSING
    press(world, (pressure, pressure), max(MAKING, closed + SETTLING))
    world.materials[0] = material
    press(world, (pressure, pressure), 0.3)
    return world


def extent(world: World) -> Array:
    """Edges (3,) of the block, m."""
    return np.array([world.body(n).position[k] for k, n in enumerate(("right", "back", "top"))])


def stress(world: World) -> Array:
    """Stresses (3,) on the plates right, back and top, Pa; pressure counts plus."""
    edge = extent(world)
    push = [float(world.body(n).force[k]) for k, n in enumerate(("right", "back", "top"))]
    result: Array = np.array(push) * edge / float(np.prod(edge))
    return result


class _Plate:
    """Moves a plate so that its stress comes to what is wanted, and stays there as it yields."""

    def __init__(self, world: World, name: str, axis: int) -> None:
        self.world, self.name, self.axis = world, name, axis
        self.drift = 0.0  # m/s: the speed at which the block gives way, as learnt so far

    def hold(self, wanted: float) -> None:
        """Choose the speed of the next step."""
        world = self.world
        motion = world.body(self.name).motion
        assert isinstance(motion, Steered)
        now = float(stress(world)[self.axis])
        modulus = STIFF * world.materials[0].stiffness / float(world.grains.radius.mean())
        lacking = (now - wanted) / modulus * float(extent(world)[self.axis]) / ANSWER
        if now < 0.3 * wanted:
            self.drift, speed = 0.0, -CLOSING
        else:
            self.drift += 0.25 * lacking * world.dt / ANSWER
            speed = lacking + self.drift
        velocity = [0.0, 0.0, 0.0]
        velocity[self.axis] = min(max(speed, -CLOSING), CLOSING)
        motion.steer(world.time, velocity)


def press(world: World, wanted: tuple[float, float], seconds: float) -> None:
    """Hold the stresses (Pa) on the plates right and top for some time."""
    plates = [_Plate(world, *one) for one in MOVING]
    for _ in range(round(seconds / world.dt)):
        for plate, one in zip(plates, wanted, strict=True):
            plate.hold(one)
        world.step()


def compress(world: World, confining: float, strain: float = 0.1, rate: float = 0.02) -> Array:
    """Press a block from above; rows of (strain, confining, middle, axial stress in Pa).

    The plate on the right keeps the confining stress, the one on top comes down by `rate` (1/s)
    of the height; front and back stay (plane strain).
    """
    press(world, (confining, confining), 0.4)
    top = world.body("top").motion
    assert isinstance(top, Steered)
    right, high = _Plate(world, "right", 0), float(extent(world)[2])
    rows = []
    for _ in range(math.ceil(strain / rate / world.dt)):
        right.hold(confining)
        top.steer(world.time, (0.0, 0.0, -rate * high))
        world.step()
        rows.append([1.0 - float(extent(world)[2]) / high, *stress(world).tolist()])
    return np.array(rows)


def usual_stresses(material: Material) -> tuple[float, ...]:
    """Confining stresses (Pa) for a material: they go with its adhesion where it has one."""
    if material.adhesion == 0.0:
        return CONFINING_DRY
    return tuple(part * material.adhesion for part in CONFINING)


def strength(
    material: Material,
    confining: Sequence[float] | None = None,
    size: Sequence[float] = (0.4, 0.2, 0.8),
    pressure: float | None = None,
    strain: float = 0.1,
    rate: float = 0.02,
    **block_options: Any,
) -> Strength:
    """Measure cohesion and friction angle of a material's bulk.

    confining: stresses (Pa) at which a block each is compressed, all made alike under `pressure`
    (default the largest of them); they should be those of the problem at hand, for the line
    through them is a chord of a curve; default: `usual_stresses`. Failure: the largest difference
    of the stresses, averaged over one per cent of strain, up to `strain`.
    """
    confining = usual_stresses(material) if confining is None else confining
    if len(confining) < 2 or min(confining) < 0 or max(confining) <= 0:
        raise InputError("strength: confining", list(confining), "two or more stresses, Pa")
    world = block(size, material, pressure or max(confining), **block_options)
    start = world.state()
    points, overlaps = [], []
    for one in confining:
        world.restore(start)
        rows = compress(world, one, strain, rate)
        wide = max(1, round(WINDOW / rate / world.dt))
        mean = np.array([np.convolve(c, np.ones(wide) / wide, "valid") for c in rows.T])
        worst = int(np.argmax(mean[3] - mean[1]))
        points.append((float(mean[1, worst]), float(mean[3, worst])))
        overlaps.append(world.report.overlap_mean / float(world.grains.radius.mean()))
    return _line(np.array(points), max(overlaps))


def _line(points: Array, overlap: float) -> Strength:
    """Lay Mohr-Coulomb's line: axial = confining K + 2 c sqrt(K), K = tan^2(45 + angle / 2)."""
    steep, start = np.polyfit(points[:, 0], points[:, 1], 1)
    angle = math.degrees(math.asin((steep - 1.0) / (steep + 1.0)))
    cohesion = float(start) / (2.0 * math.sqrt(steep))
    return Strength(cohesion, angle, points[:, 0], points[:, 1], overlap)
