"""[Lacoursiere10] Fig. 2: what rests against each other is merged, and split when disturbed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.holz2014.drawing import ACCENT, INK
from berm.apps.figures.lacoursiere2010 import FIGURES
from berm.apps.figures.lacoursiere2010.drawing import draw_rocks, spheres_of
from berm.apps.figures.lacoursiere2010.events import Watch, inner_pairs
from berm.apps.figures.lacoursiere2010.worlds import STEP, rocky_ground, stone
from berm.core.motion import rotation_about
from berm.core.shapes import Box, Spheres
from berm.solvers.nonsmooth.solver import Nonsmooth
from berm.world.rocks import rock
from berm.world.world import World

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

KEPT = 1e-12  # relative change of an invariant, at most
FLAT = 0.5  # m: half the distance of the two layers of spheres that make a flat rock
SLOPE = float(np.arctan2(1.0, 1.4))  # rad, of the sides of the trough
STRIKE = 5.0  # s: when the last rock is let go
FRAMES = 5  # of each world
PULL = 4.0  # m/s^2, with which rocks in space draw to their middle
DRIFT, SPIN, BULLET = (0.6, 0.1, 0.0), 0.3, 2.0  # m/s, rad/s, m/s


@FIGURES.register("2")
class MergeAndSplit(Figure):
    """Flat rocks in a trough, and rocks in space."""

    number: ClassVar[str] = "2"
    title: ClassVar[str] = "bodies merge at rest, and split where they are disturbed"
    claim: ClassVar[str] = (
        "bodies that rest against each other become super-bodies, and what is struck, slides or "
        "separates is split off; mass, inertia, momentum and angular momentum are kept, energy to "
        "the accuracy that the thresholds set"
    )
    setup: ClassVar[str] = (
        "flat rocks in a trough, one falls on them when all are merged; and 14 rocks in space that "
        "draw each other, drift and spin, until another strikes them. Steps of 1/60 s; merged "
        "below 0.01 m/s for 15 steps, split above 0.02 m/s."
    )
    size: ClassVar[tuple[float, float]] = (12.0, 7.0)

    def measure(self, quick: bool, say: Say) -> Measured:
        """Run both, and look at each merge."""
        heap, shots, counts = trough(7 if quick else 16, STRIKE - (1.5 if quick else 0.0))
        say(f"trough: {len(heap)} steps with merges")
        space, whole, more = in_space(8 if quick else 14, 8.0 if quick else STRIKE)
        say(f"space: {len(space)} steps with merges")
        rows = [{"world": "trough", **row} for row in heap]
        rows += [{"world": "space", **row} for row in space]
        return Measured(rows, {"shots": shots + more, "counts": counts, "whole": whole})

    def judge(self, measured: Measured) -> list[Verdict]:
        """All merged, split by the strike, merged again; what is kept; what is lost."""
        most, least, last = _dip(measured.extra["counts"])
        verdicts = [
            Verdict(
                bool(most == 1.0 and least < 1.0 and last > least),
                f"all rocks of the trough are merged before the strike, {100 * (1 - least):.0f} % "
                f"are split by it, {100 * last:.0f} % are merged at the end",
            )
        ]
        free = [row for row in measured.rows if not row["ground"]]
        for name in ("mass", "inertia", "momentum", "angular_momentum"):
            worst = max((row[name] for row in free), default=np.inf)
            words = name.replace("_", " ")
            verdicts.append(
                Verdict(
                    bool(worst <= KEPT),
                    f"{words}: changed by {worst:.1e} at most over {len(free)} merges of free "
                    f"super-bodies (wanted {KEPT:g})",
                )
            )
        share = max(row["lost_J"] / row["most_J"] for row in measured.rows)
        verdicts.append(
            Verdict(
                bool(share <= 1.0),
                f"a merge takes {share:.2g} of M v^2 / 2 at most, M of what merges, v the "
                f"threshold; {sum(r['lost_J'] for r in measured.rows):.2g} J in all",
            )
        )
        p, spin = measured.extra["whole"]
        verdicts.append(
            Verdict(
                bool(max(p, spin) <= 1e-10),
                f"over the whole run in space, splits and impacts included, momentum changes by "
                f"{p:.1e}, angular momentum by {spin:.1e}",
            )
        )
        return verdicts

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Frames, with new merges dashed, and below how many are merged."""
        shots = measured.extra["shots"]
        parts = canvas.add_gridspec(3, FRAMES, height_ratios=(1.0, 1.1, 0.7))
        for k, (time, spheres, new) in enumerate(shots):
            ax = canvas.add_subplot(parts[k // FRAMES, k % FRAMES])
            if k < FRAMES:
                for side in (-1.0, 1.0):
                    ax.plot([side * 2.4, side * 1.0], [1.0, 0.0], color=INK, lw=1)
                ax.plot([-1.0, 1.0], [0.0, 0.0], color=INK, lw=1)
            draw_rocks(ax, spheres)
            for a, b in new:
                ax.plot([a[0], b[0]], [a[1], b[1]], "--", color=ACCENT, lw=1.2, zorder=9)
            ax.set_xlim(-2.5, 2.5)
            ax.set_ylim((-0.1, 3.2) if k < FRAMES else (-2.2, 1.8))
            ax.set_title(
                f"{'' if k < FRAMES else 'in space, '}{time:.2f} s", fontsize=9, loc="left"
            )
        ax = canvas.add_subplot(parts[2, :])
        t, share = np.array(measured.extra["counts"]).T
        ax.plot(t, 100 * share, color=INK)
        for at in t[1:][np.diff(share) > 0]:
            ax.axvline(at, color=ACCENT, ls="--", lw=0.7)
        words = (
            "time (s), trough; dashed: merges. Above, white: by itself; sand: part of the ground; "
            "other colours: super-bodies; dashed: merged since the last frame"
        )
        ax.set_xlabel(words, fontsize=9)
        ax.set_ylabel("% merged")


def flat_rock(seed: int, size: float) -> Spheres:
    """A rock whose spheres lie in two layers alike, so that it stays in its plane."""
    made = rock(seed, size)
    assert isinstance(made, Spheres)
    layer = made.centres * (1.0, 0.0, 1.0)
    both = np.vstack([np.add(layer, (0.0, side * FLAT, 0.0)) for side in (-1.0, 1.0)])
    return Spheres(both, np.tile(made.radii, 2))


def trough(rocks: int, strike: float) -> tuple[list[dict[str, Any]], list[Any], list[Any]]:
    """Flat rocks fall into a trough, and one more at `strike` (s): merges, frames, share merged."""
    world = rocky_ground(merging=True)
    rough = stone()
    for side in (-1.0, 1.0):
        turn = rotation_about((0.0, 1.0, 0.0), -side * SLOPE)
        out = np.array([side * 1.7, 0.0, 0.5]) - 0.1 * turn[:, 2]
        world.add_body(Box((2.6, 2.0, 0.2)), name=f"side {side:+.0f}", material=rough, position=out,
                       rotation=turn)  # fmt: skip
    rng = np.random.default_rng(3)
    for k in range(rocks):
        world.add_body(
            flat_rock(k, 0.5 + 0.3 * rng.random()), name=f"rock {k}", material=rough, dynamic=True,
            position=(0.9 * (k % 4 - 1.5), 0.0, 1.2 + 0.9 * (k // 4)),
        )  # fmt: skip
    watch, counts = Watch(world), []
    end = strike + 3.0
    film = Film(world, strike, end)
    while world.time < end - 0.5 * STEP:
        if abs(world.time - strike) < 0.5 * STEP:
            world.add_body(flat_rock(99, 0.75), name="last", material=rough, dynamic=True,
                           position=(0.2, 0.0, 3.0), velocity=(0.0, 0.0, -1.0))  # fmt: skip
        world.step()
        free = world.bodies.dynamic
        counts.append((world.time, float((world.bodies.super_body[free] >= 0).mean())))
        film.take()
    return watch.rows, film.shots, counts


class Film:
    """Frames: falling, just before the strike, while it splits, while it merges again, the end.

    Each has time, spheres, and lines between what was merged since the last.
    """

    def __init__(self, world: World, strike: float, end: float, follow: bool = False) -> None:
        self.world, self.follow, self.view = world, follow, np.array([0, 2])
        self.shots: list[Any] = []
        self.known = inner_pairs(world)
        late = strike + 0.25
        self.due: list[Callable[[float, float], bool]] = [
            lambda t, share: t >= 0.3,
            lambda t, share: t >= strike - 0.02,
            lambda t, share: t >= late and (share <= 0.7 or t >= end - 1.0),
            lambda t, share: t >= late + 0.5 and (share >= 0.3 or t >= end - 0.5),
            lambda t, share: t >= end - 0.5 * STEP,
        ]

    def take(self) -> None:
        """Take a frame if one is due."""
        world = self.world
        share = float((world.bodies.super_body[world.bodies.dynamic] >= 0).mean())
        if not self.due or not self.due[0](world.time, share):
            return
        self.due.pop(0)
        now, spheres = inner_pairs(world), spheres_of(world)
        middle = np.median(spheres[:, :3], axis=0) if self.follow else np.zeros(3)
        spheres[:, :3] -= middle
        self.shots.append((world.time, spheres, self._lines(now - self.known, middle)))
        self.known = now

    def _lines(self, pairs: set[tuple[int, int]], middle: Any) -> list[Any]:
        """Ends of lines between rocks that were merged; what touches the ground has no middle."""
        bodies = self.world.bodies
        row = {int(tag): k for k, tag in enumerate(bodies.tag)}
        x, free = bodies.x - middle, bodies.dynamic
        return [
            (x[row[a], self.view], x[row[b], self.view])
            for a, b in sorted(pairs)
            if a in row and b in row and free[row[a]] and free[row[b]]
        ]


def _dip(counts: list[tuple[float, float]]) -> tuple[float, float, float]:
    """Most that was ever merged, least that was after that, and the last."""
    share = np.array(counts)[:, 1]
    first = int(np.argmax(share))
    return float(share[first]), float(share[first:].min()), float(share[-1])


def in_space(
    rocks: int, strike: float
) -> tuple[list[dict[str, Any]], tuple[float, float], list[Any]]:
    """Rocks that draw to their middle, drift and spin, struck at `strike` (s) by one more.

    Returns the merges, the relative changes of momentum and angular momentum over the whole run,
    and frames.
    """
    world = World(gravity=(0, 0, 0), dt=STEP, solver=Nonsmooth(merging=True, rolling=False))
    rough = stone()
    rng = np.random.default_rng(5)
    side = int(np.ceil(rocks ** (1 / 3)))
    for k in range(rocks):
        cell = np.array([k % side, k // side % side, k // side**2]) - 0.5 * (side - 1)
        place = 0.95 * cell
        world.add_body(
            rock(k, 0.5 + 0.3 * rng.random()), name=f"rock {k}", material=rough, dynamic=True,
            position=place, velocity=np.add(DRIFT, np.cross((0.0, 0.0, SPIN), place)),
            angular_velocity=(0.0, 0.0, SPIN),
        )  # fmt: skip
    bodies = world.bodies

    def draw_together(one: World) -> None:
        """Pull each towards the middle of all; the sum of the forces and of their moments is 0."""
        free = np.flatnonzero(bodies.dynamic)
        mass = bodies.mass[free]
        middle = mass @ bodies.x[free] / mass.sum()
        away = bodies.x[free] - middle
        bodies.applied[free, :3] = -PULL * mass[:, None] * away

    world.control = draw_together
    watch, end, sums = Watch(world), strike + 4.0, None
    changes = (0.0, 0.0)
    film = Film(world, strike, end, follow=True)
    while world.time < end - 0.5 * STEP:
        if abs(world.time - strike) < 0.5 * STEP:
            middle = bodies.x[bodies.dynamic].mean(axis=0)
            world.add_body(
                rock(77, 0.5), name="bullet", material=rough, dynamic=True,
                position=np.add(middle, (0.3, 0.1, -2.6)),
                velocity=np.add(DRIFT, (0.0, 0.0, BULLET)),
            )  # fmt: skip
            sums = None
        world.step()
        p, spin = bodies.momentum(), bodies.angular_momentum()
        if sums is None:
            sums = p, spin
        scale = float(np.linalg.norm(sums[0])), float(np.linalg.norm(sums[1]))
        changes = (
            max(changes[0], float(np.linalg.norm(p - sums[0])) / scale[0]),
            max(changes[1], float(np.linalg.norm(spin - sums[1])) / scale[1]),
        )
        film.take()
    return watch.rows, changes, film.shots
