"""An avalanche of compound grains sweeps away what was built in its way: [Bell05] Fig. 7."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from berm.core.clusters import Cluster, tetrahedron
from berm.core.motion import Linear, rotation_about
from berm.core.report import StepReport
from berm.core.shapes import Box, HeightField
from berm.scenes.base import SCENES, Outcome, Scene, Usual
from berm.scenes.parts.blocks import BLOCK, is_block, make_block, momenta, momentum_error
from berm.scenes.parts.history import History
from berm.scenes.parts.params import GrainParams, inherited
from berm.world.packings import lattice
from berm.world.world import World

Array = npt.NDArray[np.float64]
SPHERES = 294_820  # [Bell05] Table 1
PLAIN = 3.0  # degrees by which the plain falls
BEND = 0.15  # m, over which the slope turns into the plain
CELL = 0.1  # m, of the terrain
LOOSE = 0.5  # share of the room that settled grains fill
FAR = 0.6  # m, from the foot of the slope to the first structures
ALOFT = 5.0e-3  # m, between the slope and the lowest grains at the start
LIFT = 4.0  # m/s, of the gate


class AvalancheParams(GrainParams):
    """Parameters of the avalanche and of what stands in its way."""

    LIVE: ClassVar[tuple[str, ...]] = ("friction", "friction_kinetic", "restitution")

    friction: float | None = inherited(GrainParams, "friction", 0.4)
    friction_kinetic: float | None = inherited(GrainParams, "friction_kinetic", 0.4)
    radius: float = Field(0.02, gt=0.0, le=1.0, description="radius of a grain's four spheres (m)")
    size: Literal["small", "paper"] = Field(
        "small", description="small: about 7,000 spheres; paper: 294,820 as in Table 1"
    )
    grains: int = Field(
        1400, ge=10, le=1_000_000, description="number of compound grains; paper: what is left"
    )
    slope: float = Field(40.0, ge=20.0, le=60.0, description="angle of the slope (degrees)")
    run: float = Field(
        1.3, ge=0.5, le=20.0, description="way on the slope from the gate to its foot (m)"
    )
    block: float = Field(0.2, gt=0.0, le=2.0, description="edge of a block (m)")
    block_density: float = Field(500.0, gt=0.0, le=2.0e4, description="of the blocks (kg/m^3)")
    settle: float = Field(0.7, ge=0.1, le=100.0, description="time before the gate opens (s)")
    flow: float = Field(2.0, gt=0.0, le=100.0, description="time after the gate opens (s)")

    @property
    def scale(self) -> float:
        """Lengths of the valley, relative to the small one."""
        return 1.0 if self.size == "small" else 3.2

    @property
    def width(self) -> float:
        """Width of the valley, m."""
        return 1.4 * self.scale

    @property
    def length(self) -> float:
        """Length of the plain, m."""
        return 3.6 * self.scale

    @property
    def way(self) -> float:
        """Distance on the slope from the gate to the foot, m."""
        return self.run * self.scale


@SCENES.register("avalanche")
class Avalanche(Scene[AvalancheParams]):
    """Grains of four spheres slide down a slope, over towers and walls of covered bodies."""

    name: ClassVar[str] = "avalanche"
    summary: ClassVar[str] = "an avalanche of compound grains sweeps towers and walls away"
    seconds: ClassVar[float] = 2.7
    Params: ClassVar[type[AvalancheParams]] = AvalancheParams
    solver: ClassVar[str] = "dem"
    needs: ClassVar[frozenset[str]] = frozenset({"clusters"})
    usual: ClassVar[Usual] = {"dem": {"rolling": "none", "cohesion": "area"}}

    def duration(self, params: AvalancheParams) -> float:
        """Settle and flow; a larger valley takes longer."""
        return round(params.settle + params.flow * math.sqrt(params.scale), 2)

    def fill(self, world: World, params: AvalancheParams) -> None:
        """Add grains behind a gate on the slope, and structures on the plain."""
        law = params.soil(world)
        block = make_block(params.block, params.seed)
        where = block_places(params)
        stone = law.replace(name=BLOCK, density=params.block_density)
        world.add_clusters(
            block, where, _quaternion(math.radians(PLAIN), block.axes), material=stone
        )
        grain = tetrahedron(params.radius)
        count = params.grains
        if params.size == "paper":
            count = (SPHERES - len(where) * len(block)) // len(grain)
        behind, tall = self._reservoir(world, params, grain, count)
        back = (params.way + behind) * math.cos(math.radians(params.slope)) + 0.3
        smooth = law.replace(name="smooth", friction=0.0, adhesion=0.0)
        top = 2.0 * (float(terrain(-back, params)) + tall) + 4.0
        world.add_body(
            Box((params.length + back, params.width, top), inside=True, open_top=True),
            name="sides", material=smooth, position=(0.5 * (params.length - back), 0.0, 0.0),
        )  # fmt: skip
        x = np.arange(-back - CELL, params.length + 2 * CELL, CELL)
        y = np.arange(-0.5 * params.width - CELL, 0.5 * params.width + 2 * CELL, CELL)
        heights = np.repeat(terrain(x, params)[:, None], len(y), axis=1)
        world.add_body(
            HeightField(heights, CELL, (float(x[0]), float(y[0]))), name="ground",
            material="rough wall",
        )  # fmt: skip

    def _reservoir(
        self, world: World, params: AvalancheParams, grain: Cluster, count: int
    ) -> tuple[float, float]:
        """Put `count` grains on the slope behind a gate; return how far (m) and high they reach."""
        reach = grain.bounding_radius
        deep = 0.28 * params.scale
        behind = max(count * grain.volume / LOOSE / (deep * params.width), 5.0 * reach)
        tilt = rotation_about((0.0, 1.0, 0.0), math.radians(params.slope))
        gate = params.way
        half = 0.5 * params.width
        layers = 0.0
        while True:  # placed at random angles, grains need more room than settled ones
            tall = (3.0 + layers) * deep
            place, _ = lattice(
                (-gate - behind, -half, ALOFT), (-gate, half, ALOFT + tall), reach, 0.02,
                params.seed, "hexagonal",
            )  # fmt: skip
            if len(place) >= count:
                break
            layers += 0.5
        place = place[np.argsort(place[:, 2], kind="stable")[:count]]
        law = params.make_material()
        world.add_clusters(grain, place @ tilt.T, "random", material=law)
        thick = 0.04
        normal = tilt @ np.array([0.0, 0.0, 1.0])
        smooth = law.replace(name="gate", friction=0.0, adhesion=0.0)
        board = 1.2 * tall
        # its foot stays clear of the ground
        world.add_body(
            Box((thick, params.width, board)), name="gate", material=smooth,
            position=tilt @ np.array([-gate + 0.5 * thick, 0.0, 0.5 * board + ALOFT]),
            rotation=tilt,
            motion=Linear(
                LIFT * normal, params.settle, params.settle + 2.0 * board * params.scale / LIFT
            ),
        )  # fmt: skip
        return behind, tall

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """Front of the grains, place and top of the blocks (m), momenta, force on the ground."""
        clumps = world.clumps
        blocks = is_block(world)
        x, v = clumps.position, clumps.velocity
        return {
            "front": float(np.quantile(x[~blocks, 0], 0.99)),
            "block_x": float(x[blocks, 0].mean()),
            "block_top": float(x[blocks, 2].max()),
            "block_speed": float(np.linalg.norm(v[blocks], axis=1).max()),
            **momenta(world),
        }

    def check(self, world: World, history: History) -> list[Outcome]:
        """They stand until the front comes, then go with it; momentum is kept; nothing is lost."""
        params: AvalancheParams = history.params
        time, front = history["time"], history["front"]
        blocks = is_block(world)
        start = block_places(params)
        first = float(start[:, 0].min()) - 0.5 * params.block
        came = np.flatnonzero(front >= first)
        balance = momentum_error(world, history)
        lost = len(start) - int(blocks.sum()) + below_ground(world, params)
        outcomes = [
            Outcome("momentum gained - impulse of gravity and ground", balance < 1e-3, balance,
                    "below 0.001 of the weight x time"),
            Outcome("bodies lost", lost == 0, lost, "0"),
        ]  # fmt: skip
        if not came.size or time[came[0]] <= params.settle:
            missing = Outcome("front reaches the structures", False, float(front[-1]),
                              f"above {first:.2f} after the gate opened", "m")  # fmt: skip
            return [missing, *outcomes]
        # half a tenth of a second for single grains that jump ahead of the front
        hit = max(int(came[0]) - round(0.05 / params.dt), 1)
        stood = (time >= 0.7 * params.settle) & (np.arange(len(time)) < hit)
        moved = float(np.ptp(history["block_x"][stood])) if stood.any() else math.nan
        sank = float(np.ptp(history["block_top"][stood])) if stood.any() else math.nan
        away = world.clumps.position[blocks][:, 0] - start[:, 0]
        share = float((away > 0.5 * params.block).mean())
        push = float(history["block_momentum"][hit:].max())
        fastest = float(history["flow_x"].max())
        fell = float(history["block_top"][hit] - history["block_top"][-1])
        return [
            Outcome("blocks' way before the front comes", moved < 0.25 * params.radius,
                    moved / params.radius, "below 0.25 radii"),
            Outcome("structures' sinking before the front comes", sank < 0.25 * params.radius,
                    sank / params.radius, "below 0.25 radii"),
            Outcome("blocks' way downhill", float(away.mean()) > params.block,
                    float(away.mean()), f"above one block, {params.block:g}", "m"),
            Outcome("blocks swept away", share >= 0.5, share, "at least half of them"),
            Outcome("structures fall", fell > 0.5 * params.block, fell / params.block,
                    "top lower by half a block or more", "blocks"),
            # the flow's own momentum is all there is to give
            Outcome("momentum of the blocks / of the flow", 0.0 < push < fastest,
                    push / fastest, "above 0, below 1"),
            *outcomes,
        ]  # fmt: skip


def terrain(x: npt.ArrayLike, params: AvalancheParams) -> Array:
    """Height (m) of the ground: a slope that bends into a plain at x = 0."""
    steep, flat = (math.tan(math.radians(angle)) for angle in (params.slope, PLAIN))
    bent = BEND * np.logaddexp(0.0, -np.asarray(x, float) / BEND)
    return np.asarray((steep - flat) * bent - flat * np.asarray(x, float))


def block_places(params: AvalancheParams) -> Array:
    """Centres (n, 3) of the blocks at the start: towers in front, walls behind, m."""
    edge = params.block
    rows = 1 if params.size == "small" else 3
    spots: list[tuple[float, float, int]] = []  # x, y, layers
    for row in range(rows):
        x = FAR * params.scale + 5.0 * edge * row
        towers = max(1, round(params.width / (3.5 * edge)))
        pitch = params.width / towers
        for k in range(towers):
            spots.append((x, (k + 0.5) * pitch - 0.5 * params.width, 4))
        wide = int(0.5 * params.width / (1.02 * edge))
        for k in range(wide):
            spots.append((x + 2.5 * edge, 1.02 * edge * (k - 0.5 * (wide - 1)), 2))
    turn = rotation_about((0.0, 1.0, 0.0), math.radians(PLAIN))
    up = turn @ np.array([0.0, 0.0, 1.0])
    # the ground is bent a little everywhere: stand on it where the block is
    foot = [np.array([x, y, float(terrain(x, params))]) for x, y, _ in spots]
    return np.array([
        base + (0.5 + layer) * edge * up
        for base, (_, _, layers) in zip(foot, spots, strict=True)
        for layer in range(layers)
    ])  # fmt: skip


def _quaternion(angle: float, axes: Array) -> Array:
    """Quaternion of a turn about y, for a cluster whose principal axes are those of its box."""
    assert np.allclose(axes, np.eye(3), atol=1e-6)
    return np.array([math.cos(0.5 * angle), 0.0, math.sin(0.5 * angle), 0.0])


def below_ground(world: World, params: AvalancheParams) -> int:
    """Number of bodies whose centre is below the ground or beyond the sides."""
    x = world.clumps.position
    out = x[:, 2] < terrain(x[:, 0], params)
    out |= np.abs(x[:, 1]) > 0.5 * params.width
    out |= x[:, 0] > params.length
    return int(out.sum())
