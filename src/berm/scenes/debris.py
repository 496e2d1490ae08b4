"""A bulldozer's blade goes through what an avalanche left: [Bell05] Fig. 8."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from berm.core.clusters import Cluster, tetrahedron
from berm.core.motion import Linear
from berm.core.report import StepReport
from berm.core.shapes import Box, Mesh
from berm.scenes.base import SCENES, Outcome, Scene, Usual
from berm.scenes.parts.blocks import BLOCK, is_block, make_block, momenta, momentum_error
from berm.scenes.parts.history import History
from berm.scenes.parts.params import GrainParams, inherited
from berm.world.measure import height_map
from berm.world.packings import lattice
from berm.world.world import World

Array = npt.NDArray[np.float64]
SPHERES = 310_149  # [Bell05] Table 1
LOOSE = 0.5  # share of the room that settled grains fill
THICK = 0.05  # m, of the blade
START = 0.25  # m, place of the blade at the start
CLEAR = 0.5  # radii between the blade and the floor
RIDGE = 0.5  # radii above the first level that count as a ridge, as in the scene push
REST = 0.3  # s, at the end


class DebrisParams(GrainParams):
    """Parameters of the field and of the blade."""

    LIVE: ClassVar[tuple[str, ...]] = ("friction", "friction_kinetic", "restitution")

    friction: float | None = inherited(GrainParams, "friction", 0.4)
    friction_kinetic: float | None = inherited(GrainParams, "friction_kinetic", 0.4)
    radius: float = Field(0.02, gt=0.0, le=1.0, description="radius of a grain's four spheres (m)")
    size: Literal["small", "paper"] = Field(
        "small", description="small: about 8,000 spheres; paper: 310,149 as in Table 1"
    )
    depth: float = Field(0.12, gt=0.0, le=10.0, description="depth of the grains (m), about")
    length: float = Field(2.2, gt=0.5, le=100.0, description="length of the field (m)")
    width: float = Field(1.5, gt=0.3, le=100.0, description="width of the field (m)")
    blade: float = Field(0.6, gt=0.1, le=50.0, description="width of the blade (m)")
    height: float = Field(0.4, gt=0.05, le=10.0, description="height of the blade (m)")
    sweep: float = Field(
        45.0, ge=0.0, le=60.0, description="its halves turn back by (degrees); 0: a straight blade"
    )
    speed: float = Field(0.6, gt=0.0, le=10.0, description="speed of the blade (m/s)")
    blocks: int = Field(12, ge=1, le=100_000, description="number of blocks in the small field")
    block: float = Field(0.16, gt=0.0, le=2.0, description="edge of a block (m)")
    block_density: float = Field(500.0, gt=0.0, le=2.0e4, description="of the blocks (kg/m^3)")
    settle: float = Field(0.8, ge=0.1, le=100.0, description="time before the blade starts (s)")

    @property
    def scale(self) -> float:
        """Lengths of field and blade relative to the small ones; grains and blocks stay."""
        return 1.0 if self.size == "small" else 3.5

    @property
    def way(self) -> float:
        """Distance of the push, m."""
        return 0.6 * self.length * self.scale

    @property
    def lane(self) -> tuple[float, float]:
        """Ends (m) of the middle of the blade's way."""
        start = START * self.scale
        return start + 0.3 * self.way, start + 0.8 * self.way


@SCENES.register("debris")
class Debris(Scene[DebrisParams]):
    """A driven blade sweeps compound grains and covered blocks aside."""

    name: ClassVar[str] = "debris"
    summary: ClassVar[str] = "a blade sweeps grains and blocks aside, the remains of an avalanche"
    seconds: ClassVar[float] = 3.3
    Params: ClassVar[type[DebrisParams]] = DebrisParams
    solver: ClassVar[str] = "dem"
    needs: ClassVar[frozenset[str]] = frozenset({"clusters"})
    usual: ClassVar[Usual] = {"dem": {"rolling": "none", "cohesion": "area"}}

    def duration(self, params: DebrisParams) -> float:
        """Settle, push, and a short rest."""
        return round(params.settle + params.way / (params.speed * params.scale) + REST, 2)

    def fill(self, world: World, params: DebrisParams) -> None:
        """Add grains and blocks, about to fall, with the blade at the near end."""
        law = params.soil(world)
        big = params.scale
        long, wide, deep = params.length * big, params.width * big, params.depth * big
        world.add_body(
            Box((long, wide, 4.0 * big), inside=True, open_top=True), name="field",
            material="rough wall", position=(long / 2, 0.0, 2.0 * big),
        )  # fmt: skip
        grain, block = tetrahedron(params.radius), make_block(params.block, params.seed)
        number = round(params.blocks * big**2)
        count = int(LOOSE * long * wide * deep / grain.volume)
        if params.size == "paper":
            count = (SPHERES - number * len(block)) // len(grain)
        plough = chevron(params.blade * big, params.height * big, params.sweep)
        middle = np.array([START * big, 0.0, CLEAR * params.radius])
        size = np.ptp(plough.vertices, axis=0)
        centre = middle + plough.vertices.min(axis=0) + 0.5 * size

        def free(cluster: Cluster, bottom: float) -> Array:
            """Places (m) for a cluster, lowest first, at any angle and clear of the blade."""
            reach = cluster.bounding_radius
            corner = (0.0, -wide / 2, bottom)
            top = (long, wide / 2, max(8.0 * deep, bottom + 4.0 * reach))
            place, _ = lattice(corner, top, reach, 0.02, params.seed, "hexagonal")
            off = np.abs(place - centre) - 0.5 * size
            place = place[(off > reach).any(axis=1)]
            return place[np.argsort(place[:, 2], kind="stable")]

        bed = free(grain, 0.0)[:count]
        world.add_clusters(grain, bed, "random", material=law)
        above = free(block, float(bed[:, 2].max()) + grain.bounding_radius)
        layer = above[above[:, 2] < above[0, 2] + 0.5 * block.bounding_radius]
        while len(layer) < number:
            layer = above[: len(layer) + number]
        chosen = world.rng.permutation(len(layer))[:number]
        stone = law.replace(name=BLOCK, density=params.block_density)
        world.add_clusters(block, layer[chosen], "random", material=stone)
        pace = params.speed * big
        world.add_body(
            plough, name="blade", material="steel", position=middle,
            motion=Linear((pace, 0.0, 0.0), params.settle, params.settle + params.way / pace),
        )  # fmt: skip

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """Force on the blade and its place, blocks before and behind it, momenta."""
        blade = world.body("blade")
        blocks = is_block(world)
        x = world.clumps.position[blocks]
        width = float(np.ptp(blade.shape.vertices[:, 1]))
        here = float(blade.position[0])
        lane = np.abs(x[:, 1]) < 0.5 * width
        return {
            "resistance": -float(blade.force[0]),
            "lift": float(blade.force[2]),
            "blade": here,
            "blocks_ahead": float((lane & (x[:, 0] > here)).sum()),
            "level": bed_level(world) if here == blade.start_position[0] else math.nan,
            "block_x": float(x[:, 0].mean()),
            "block_y": float(np.abs(x[:, 1]).mean()),
            **momenta(world),
        }

    def check(self, world: World, history: History) -> list[Outcome]:
        """Grains and blocks are swept aside, the blade feels it, momentum is kept."""
        params: DebrisParams = history.params
        half, r = 0.5 * params.blade * params.scale, params.radius
        place, height = cross_profile(world, params)
        rim = 0.5 * params.width * params.scale
        began = np.flatnonzero(history["time"] > params.settle)
        if not began.size:
            return [Outcome("push", False, math.nan, "a run that lasts until the blade starts")]
        level = float(history["level"][max(began[0] - 1, 0)])  # before the blade starts
        beside = (np.abs(place) > half) & (np.abs(place) < rim - 2 * r)
        left = float(height[beside & (place < 0)].max()) - level
        right = float(height[beside & (place > 0)].max()) - level
        swept = float(height[np.abs(place) < 0.8 * half].mean())
        time = history["time"]
        stop = params.settle + params.way / (params.speed * params.scale)
        pushing = history["resistance"][(time > params.settle + 0.3) & (time < stop)]
        force = float(pushing.mean()) if len(pushing) else math.nan
        x = world.clumps.position
        blocks = is_block(world)
        within = (x[:, 0] > START * params.scale) & (np.abs(x[:, 1]) < half)
        within &= x[:, 0] < float(world.body("blade").position[0])
        left_over = float((within & blocks).sum())
        ahead = float(history["blocks_ahead"][began[0]])
        moved = float(history["block_x"][-1] - history["block_x"][began[0]])
        long = params.length * params.scale
        lost = (np.abs(x[:, 1]) > rim) | (x[:, 0] < 0) | (x[:, 0] > long) | (x[:, 2] < 0)
        balance = momentum_error(world, history)
        return [
            Outcome("ridge on the left", left > RIDGE * r, left / r, f"above {RIDGE} radii"),
            Outcome("ridge on the right", right > RIDGE * r, right / r, f"above {RIDGE} radii"),
            Outcome("height left in the lane / before", swept < 0.5 * level, swept / level,
                    "below 0.5"),
            Outcome("blocks in the way", ahead > 0, ahead, "above 0 when the blade starts"),
            # some may roll back where the blade has passed
            Outcome("blocks left in the lane / before", left_over < 0.5 * ahead,
                    left_over / max(ahead, 1.0), "below 0.5"),
            Outcome("blocks' mean way with the blade", moved > 0, moved, "above 0", "m"),
            Outcome("force against the blade", force > 0, force, "above 0", "N"),
            Outcome("momentum gained - impulse of gravity and boundaries", balance < 1e-3, balance,
                    "below 0.001 of the weight x time"),
            Outcome("bodies lost", not lost.any(), int(lost.sum()), "0"),
        ]  # fmt: skip


def chevron(width: float, height: float, sweep: float) -> Mesh:
    """Return a blade (m) that points along x, its halves turned back by `sweep` (degrees)."""
    half, tip = 0.5 * width, 0.5 * width * math.tan(math.radians(sweep))
    front = np.array([[0.0, -half], [tip, 0.0], [0.0, half]])
    flat = np.vstack([front, front[::-1] - [THICK, 0.0]])  # 0 1 2 in front, 3 4 5 behind
    low = np.column_stack([flat, np.zeros(6)])
    cap = np.array([[0, 1, 4], [0, 4, 5], [1, 2, 3], [1, 3, 4]])
    here = np.arange(6)
    there = (here + 1) % 6
    faces = np.vstack([
        cap[:, ::-1], cap + 6, np.column_stack([here, there, there + 6]),
        np.column_stack([here, there + 6, here + 6]),
    ])  # fmt: skip
    return Mesh(np.vstack([low, low + np.array([0.0, 0.0, height])]), faces, name="blade")


def cross_profile(world: World, params: DebrisParams) -> tuple[Array, Array]:
    """Height (m) of the grains across the way, averaged along the lane and a grain's width."""
    first, last = params.lane
    half = 0.5 * params.width * params.scale
    grid = height_map(_loose(world), floor=0.0, low=(first, -half), high=(last, half))
    profile = grid.heights.mean(axis=0)
    width = max(1, round(4.0 * params.radius / grid.cell))
    count = np.convolve(np.ones(len(profile)), np.ones(width), "same")
    return grid.y, np.convolve(profile, np.ones(width), "same") / count


def bed_level(world: World) -> float:
    """Mean height (m) of the grains, away from the rim and from the blade's start."""
    spheres = _loose(world)
    low, high = spheres[:, :2].min(axis=0), spheres[:, :2].max(axis=0)
    inset = 0.1 * (high - low)
    inset_low = inset * [3.0, 1.0]
    grid = height_map(spheres, floor=0.0, low=tuple(low + inset_low), high=tuple(high - inset))
    return float(grid.heights.mean())


def _loose(world: World) -> Array:
    """Positions and radii (n, 4) of the spheres that do not belong to blocks, m."""
    grains = world.grains
    # owners are known from the first step on
    owner = grains.owner[: grains.n]
    spheres: Array = grains.x[: grains.n][~is_block(world)[owner] | (owner < 0)]
    return spheres
