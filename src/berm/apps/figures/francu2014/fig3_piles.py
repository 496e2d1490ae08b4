"""[Francu14] Fig. 3: sand piles with different friction, VTS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.francu2014 import FIGURES
from berm.apps.figures.holz2014.drawing import draw_pile
from berm.scenes.base import make_params, scene
from berm.solvers.vts.solver import VTS
from berm.world.measure import angle_of_repose

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

FRICTION = (0.1, 0.3, 0.6)


@FIGURES.register("3")
class Piles(Figure):
    """Three piles."""

    number: ClassVar[str] = "3"
    title: ClassVar[str] = "angle of repose against friction"
    claim: ClassVar[str] = "the angle of repose grows with the friction coefficient"
    setup: ClassVar[str] = (
        "3,000 grains poured, VTS, 15 iterations, gamma 0.5, 60 Hz; not printed: friction "
        "(0.1, 0.3, 0.6), radii (16-24 mm); Gauss-Seidel with berm's omega 1.5 and warm start"
    )
    size: ClassVar[tuple[float, float]] = (11.0, 3.4)

    def measure(self, quick: bool, say: Say) -> Measured:
        """Pour each."""
        grains = 600 if quick else 3000
        rows: list[dict[str, Any]] = []
        extra: dict[str, Any] = {}
        for mu in FRICTION:
            one = scene("pile")
            given = {"friction": mu, "friction_kinetic": mu, "grains": grains, "rate": 800.0}
            world = one.build(make_params(one, given), VTS(iterations=15, gamma=0.5))
            world.run(grains / 800.0 + 3.0)
            slope = angle_of_repose(world, floor=0.0)
            rows.append({"friction": mu, "slope_degrees": slope.degrees, "fit_r2": slope.r2})
            say(f"mu {mu}: {slope.degrees:.1f} degrees")
            extra[f"{mu:g}"] = (world.grains.x[: world.grains.n].astype(float), slope)
        return Measured(rows, extra)

    def judge(self, measured: Measured) -> list[Verdict]:
        """Strictly rising."""
        found = [row["slope_degrees"] for row in measured.rows]
        text = ", ".join(f"{s:.1f} at mu {m:g}" for s, m in zip(found, FRICTION, strict=True))
        return [Verdict(found[0] < found[1] < found[2], f"degrees: {text}")]

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Side views."""
        for k, (mu, (spheres, slope)) in enumerate(measured.extra.items()):
            ax = canvas.add_subplot(1, len(FRICTION), k + 1)
            draw_pile(ax, spheres, slope, f"mu {mu}: {slope.degrees:.1f} degrees", 1.1, 0.8)
