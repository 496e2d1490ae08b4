"""A steel ball falls into a heap of compound grains beside a glass wall, [Bell05] Fig. 5."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import Field

from berm.core.materials import Material, material
from berm.core.report import StepReport
from berm.core.shapes import Box, Plane, Sphere
from berm.scenes.base import SCENES, Outcome
from berm.scenes.parts.compound import CompoundParams, CompoundScene, pieces
from berm.scenes.parts.history import History
from berm.world.cover import cover
from berm.world.emitters import Emitter
from berm.world.measure import height_profile
from berm.world.world import World

GRAVITY = 9.81  # m/s^2
SMALL, PAPER = 1200, 45_494  # grains; [Bell05] 4: 186,892 spheres with those of bodies
LOOSE = 0.5  # packing fraction of the heap
STEEP = math.radians(28.0)  # slope of the heap to come
NEAR = 3.0  # grain diameters from the wall that count as its base
AHEAD = 0.1  # s: the ball appears so long before it meets the heap
BIG = 10  # spheres: what has more is the ball
HEAP = 1.0  # diameters of a grain: what is lower is a layer


class SplashParams(CompoundParams):
    """Parameters of the splash; speed, angle and sizes are not printed."""

    grains: int | None = Field(
        None, ge=100, le=1_000_000, description="grains; none: 1,200, or 45,494 as in print"
    )
    ball: float = Field(
        0.4, gt=0.05, le=2.0, description="radius of the ball, in heights of the heap"
    )
    speed: float = Field(5.0, ge=0.0, le=50.0, description="speed of the ball at the heap (m/s)")
    angle: float = Field(
        45.0, ge=0.0, le=90.0, description="of its path above the horizontal (degrees)"
    )
    gap: float = Field(
        0.15, ge=0.0, le=10.0, description="from the heap to the wall, in radii of the heap"
    )
    glass: float = Field(0.25, ge=0.0, le=10.0, description="friction coefficient of the wall")
    settle: float = Field(0.8, ge=0.1, le=100.0, description="time before the ball arrives (s)")
    after: float = Field(1.4, ge=0.0, le=100.0, description="time after it (s)")

    @property
    def number(self) -> int:
        """Grains of the heap."""
        return self.grains or (PAPER if self.size == "paper" else SMALL)

    @property
    def heap(self) -> tuple[float, float]:
        """Height and radius of the heap to come, m: a cone."""
        volume = self.number * self.grain_volume / LOOSE
        height = (3.0 * volume * math.tan(STEEP) ** 2 / math.pi) ** (1.0 / 3.0)
        return height, height / math.tan(STEEP)

    @property
    def wall_at(self) -> float:
        """x of the wall's face, m."""
        return (1.0 + self.gap) * self.heap[1]

    def steel(self) -> Material:
        """Return the ball's material: heavy, and as soft as everything else, [Bell05] 4."""
        own = self.make_material()
        return material("steel", young_modulus=own.young_modulus, restitution=own.restitution)


@SCENES.register("splash")
class Splash(CompoundScene[SplashParams]):
    """A ball is thrown into a heap that has come to rest, towards a wall.

    **Deviation**: the floor is as rough as the grains and the wall is a smooth plate; in print
    both are covered with particles, as here only the ball is.
    """

    name: ClassVar[str] = "splash"
    summary: ClassVar[str] = "a steel ball splashes into a heap beside a glass wall"
    seconds: ClassVar[float] = 2.2
    Params: ClassVar[type[SplashParams]] = SplashParams

    def duration(self, params: SplashParams) -> float:
        """Until the ball arrives, and the time after it."""
        return params.settle + params.after

    def fill(self, world: World, params: SplashParams) -> None:
        """Add the heap as loose as it was strewn, the wall, and the ball in the air."""
        tall, wide = params.heap
        world.add_body(Plane(), name="floor", material="rough wall")
        thick = max(0.1 * wide, 2 * params.reach)
        plate = (thick, 4.0 * wide, 3.0 * tall)
        world.add_body(
            Box(plate), name="glass", material=params.wall(params.glass),
            position=(params.wall_at + 0.5 * thick, 0.0, 0.5 * plate[2]),
        )  # fmt: skip
        params.put(world, self._heap(params))
        world.add_emitter(self._ball(params))

    @staticmethod
    def _heap(params: SplashParams) -> np.ndarray:
        """Return a lattice in a cone, which sinks to the heap's height."""
        wide = params.heap[1]
        steep = math.tan(STEEP) * 0.55 * (params.reach / params.radius) ** 3
        room = wide * steep + 4 * params.reach
        where = params.places(np.array([-wide, -wide, 0.0]), np.array([wide, wide, room]))
        # those that a cone would take first
        order = np.argsort(where[:, 2] / steep + np.hypot(where[:, 0], where[:, 1]), kind="stable")
        chosen: np.ndarray = where[order[: params.number]]
        return chosen

    @staticmethod
    def _ball(params: SplashParams) -> Emitter:
        """Throw a covered ball at the heap when that has come to rest."""
        tall, wide = params.heap
        radius, r = params.ball * tall, params.sphere_radius
        down = math.radians(params.angle)
        fast = params.speed * np.array([math.cos(down), 0.0, -math.sin(down)])
        touch = np.array([-0.3 * wide, 0.0, 0.7 * tall + radius])
        return Emitter(
            rate=2.0 / params.dt, position=tuple(touch - AHEAD * fast), region="sphere", size=0.0,
            velocity=tuple(fast), material=params.steel(), total=1, start=params.settle - AHEAD,
            cluster=cover(Sphere(radius), r, offset=-r, seed=params.seed, name="ball"),
        )  # fmt: skip

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """Ball's speed (m/s); push on the glass (N); front of the grains (m) and speed (m/s)."""
        ball, grains = pieces(world, least=BIG), pieces(world, most=BIG)
        return {
            "ball_speed": float(np.linalg.norm(ball.velocity)),
            "push": float(world.body("glass").force[0]),
            "front": float(np.quantile(grains.position[:, 0], 0.99)),
            "speed": float(np.sqrt((grains.velocity**2).sum(axis=1).mean())),
        }

    def check(self, world: World, history: History) -> list[Outcome]:
        """The wave runs into the wall, stops there, and heaps up at its foot."""
        params: SplashParams = history.params
        face, width = params.wall_at, 2 * params.radius
        grains = pieces(world, most=BIG)
        where = grains.position
        _, wide = params.heap
        before = history["time"] <= params.settle
        pushed = float(history["push"][~before].max()) if (~before).any() else math.nan
        level = self._foot(world, params)
        behind = int(((where[:, 0] > face) & (np.abs(where[:, 1]) < 2.0 * wide)
                      & (where[:, 2] < 3.0 * params.heap[0])).sum())  # fmt: skip
        hit = history["time"] > params.settle
        slowed = history["ball_speed"][-1] / params.speed if len(history) else math.nan
        rest = float(history["speed"][-1]) if len(history) else math.nan
        fastest = float(history["speed"][hit].max()) if hit.any() else math.nan
        weight = float(grains.mass.sum()) * GRAVITY
        return [
            Outcome("grains", len(where) == params.number, len(where), f"{params.number}"),
            Outcome("wave meets the wall", pushed > 0.05 * weight, pushed / weight,
                    "largest push above 0.05 of the heap's weight"),
            Outcome("heap at the foot of the wall", level > HEAP * width, level / width,
                    f"above {HEAP:g} grain diameters"),
            Outcome("grains behind the wall", behind == 0, behind, "0"),
            Outcome("ball is stopped", slowed < 0.2, slowed, "below 0.2 of its speed"),
            Outcome("static again", rest < 0.1 * fastest, rest / fastest,
                    "below 0.1 of the wave's speed"),
        ]  # fmt: skip

    @staticmethod
    def _foot(world: World, params: SplashParams) -> float:
        """Mean height (m) of the grains at the foot of the wall, in front of the heap."""
        wide = params.heap[1]
        ball = np.diff(world.clumps.first) > BIG
        owner = world.grains.owner[: world.grains.n]
        kept = (owner < 0) | ~(ball[owner] if len(ball) else owner >= 0)
        x = world.grains.x[: world.grains.n][kept]
        x = x[np.abs(x[:, 1]) < 0.4 * wide]
        place, height = height_profile(
            x, along="x", across=(-0.3 * wide, 0.3 * wide), floor=0.0, cell=0.5 * params.radius
        )
        near = (place < params.wall_at) & (place > params.wall_at - NEAR * 2 * params.radius)
        return float(height[near].mean()) if near.any() else 0.0
