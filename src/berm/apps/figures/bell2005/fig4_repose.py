"""[Bell05] Fig. 4 and 2.2: grains with corners stand steeper than spheres at equal friction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from berm.apps.figures.base import Figure, Measured, Say, Verdict, mean_and_spread
from berm.apps.figures.bell2005 import FIGURES
from berm.apps.figures.bell2005.drawing import draw_spheres, snapshot
from berm.apps.figures.holz2014.drawing import ACCENT
from berm.core.shapes import Cylinder
from berm.scenes.parts.compound import CompoundParams, empty_world
from berm.world.emitters import Emitter, Sink
from berm.world.measure import Slope, angle_of_repose

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

SHAPES = ("sphere", "tetrahedron", "cube")
STEEPER = 5.0  # degrees that grains with corners stand steeper, at least
FRICTION = 0.5
RIM = 1.5  # height of the tray's rim, in grain diameters
OVER = 1.7  # poured, over what a heap of 35 degrees holds
RATE = 350.0  # grains a second
REST = 1.0  # s, after the last grain


@FIGURES.register("4")
class Repose(Figure):
    """Grains poured on a round tray with a rim until they run over it."""

    number: ClassVar[str] = "4"
    title: ClassVar[str] = "angle of repose of spheres, tetrahedra and cubes"
    claim: ClassVar[str] = (
        "the geometry of compound grains alone gives static friction: heaps of them are steeper "
        "than heaps of spheres"
    )
    setup: ClassVar[str] = (
        "grains of equal volume, friction 0.5, no rolling friction, 10 MPa, poured on a tray of 7 "
        "diameters' radius until they run over its rim; friction with history (19), which is the "
        "harder test, and capped (18) as in print. Nothing of this is printed."
    )
    size: ClassVar[tuple[float, float]] = (10.0, 5.0)

    def measure(self, quick: bool, say: Say) -> Measured:
        """Pour each shape with both laws."""
        tray, seeds = (5.0, 1) if quick else (7.0, 2)
        rows: list[dict[str, Any]] = []
        extra: dict[str, Any] = {}
        for law in ("history",) if quick else ("history", "capped"):
            for shape in SHAPES:
                for seed in range(seeds if law == "history" else 1):
                    heap = pour(shape, law, tray, seed)
                    rows.append({"law": law, "shape": shape, "seed": seed, **heap.row()})
                    say(f"{law}, {shape}, seed {seed}: {heap.slope.degrees:.1f} degrees")
                    extra.setdefault(f"{law}, {shape}", (heap.spheres, heap.slope, heap.rim))
        return Measured(rows, extra)

    def judge(self, measured: Measured) -> list[Verdict]:
        """Both shapes at least 5 degrees above spheres, with each law."""
        verdicts = []
        for law in dict.fromkeys(row["law"] for row in measured.rows):
            slope = {
                shape: mean_and_spread(row["slope_degrees"] for row in measured.rows
                                       if (row["law"], row["shape"]) == (law, shape))
                for shape in SHAPES
            }  # fmt: skip
            balls = slope["sphere"][0]
            for shape in SHAPES[1:]:
                mean, sd = slope[shape]
                gap = mean - balls
                text = f"{law}: {shape} {mean:.1f} +- {sd:.1f}, sphere {balls:.1f} degrees: "
                text += f"{gap:+.1f} (wanted {STEEPER:g})"
                verdicts.append(Verdict(bool(gap >= STEEPER), text))
        return verdicts

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Side views with the fitted slopes."""
        lines = max(1, len(measured.extra) // len(SHAPES))
        for k, (name, (spheres, slope, rim)) in enumerate(measured.extra.items()):
            ax = canvas.add_subplot(lines, len(SHAPES), k + 1)
            draw_spheres(ax, spheres)
            reach = slope.distance[slope.used]
            for side in (-1, 1):
                ax.plot(side * reach, rim + slope.line(reach), color=ACCENT, lw=1.5)
            half = 1.15 * float(np.abs(spheres[:, 0]).max())
            ax.set_xlim(-half, half)
            ax.set_ylim(-0.05, 1.1 * half)
            ax.set_title(f"{name}: {slope.degrees:.1f} degrees", fontsize=10, loc="left")


@dataclass
class Heap:
    """A heap on a tray."""

    slope: Slope
    spheres: Any
    rim: float
    speed: float  # m/s, root mean square at the end

    def row(self) -> dict[str, Any]:
        """Return what the data file keeps."""
        return {
            "slope_degrees": round(self.slope.degrees, 3),
            "fit_r2": round(self.slope.r2, 4),
            "spheres": len(self.spheres),
            "speed_m_per_s": round(self.speed, 5),
        }


def pour(shape: str, law: str, tray: float, seed: int) -> Heap:
    """Pour a heap on a tray of a radius in grain diameters, and measure its slope."""
    params = CompoundParams(shape=shape, friction=FRICTION, friction_kinetic=FRICTION, seed=seed)
    width, wide = 2 * params.radius, tray * 2 * params.radius
    rim = RIM * width
    world = empty_world(params, tangential=law)
    rough = params.wall(10.0, "tray")
    world.add_body(Cylinder(wide + 0.5 * width, width), name="tray", material=rough,
                   position=(0, 0, -0.5 * width))  # fmt: skip
    world.add_body(
        Cylinder(wide, rim, inside=True, open_ends=True, wall=0.25 * width), name="rim",
        material=rough, position=(0, 0, 0.5 * rim),
    )  # fmt: skip
    steep = wide * math.tan(math.radians(35.0))
    held = math.pi * wide**2 * (rim + steep / 3.0) * 0.55 / params.grain_volume
    count = int(OVER * held)
    world.add_emitter(
        Emitter(
            rate=RATE, position=(0.0, 0.0, rim + 1.3 * steep + 2 * width), region="disc",
            size=(0.25 * wide, 3 * width), radius=params.radius, velocity=(0.0, 0.0, -0.5),
            material=params.make_material(), total=count, cluster=params.cluster(),
        )
    )  # fmt: skip
    world.add_sink(Sink((-np.inf, -np.inf, -np.inf), (np.inf, np.inf, -2.0 * width)))
    spout = world.emitters[0]
    while spout.poured < count and world.time < 3.0 * count / RATE + 5.0:
        world.step()
    world.run(REST)
    slope = angle_of_repose(world, floor=rim)
    speed = float(np.sqrt((world.grains.velocity**2).sum(axis=1).mean()))
    return Heap(slope, snapshot(world), rim, speed)
