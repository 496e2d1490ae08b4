"""[Holz14] Fig. 4: grains turn a wheel, and tilt a plank until weights slide down."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.holz2014 import FIGURES
from berm.apps.figures.holz2014.drawing import COLOURS, INK
from berm.scenes.base import SceneRun, run_scene
from berm.scenes.plank import PlankParams
from berm.scenes.wheel import WheelParams

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

FORMS = {"p2": "berm's default", "published": "as printed"}
QUICK: dict[str, dict[str, Any]] = {
    "wheel": {"pouring": 2.0},
    "plank": {"pouring": 3.0},
}
COLUMNS = {"wheel": ("angle", "speed", "torque"), "plank": ("angle", "torque", "way 1", "way 2")}
DRIFT = 1e-2  # m: a joint that is farther off does not hold


@FIGURES.register("4")
class Bodies(Figure):
    """The scenes wheel and plank, with berm's default and with P2 as printed."""

    number: ClassVar[str] = "4"
    title: ClassVar[str] = "grains move rigid bodies: a wheel, and a plank with weights"
    claim: ClassVar[str] = (
        "the wheel turns as a result of contacts with particles; particles accumulate on the plank "
        "and make it tilt, causing weights to slide down"
    )
    setup: ClassVar[str] = (
        "wheel: radius 0.25 m, 8 paddles, brake of 2 N m, 600 grains/s of 9-13 mm on one side. "
        "plank: 1.4 m on a pivot with two weights of 4 kg on one half, friction 0.3, 250 grains/s "
        "of 10-16 mm on the other. Nothing of this is printed."
    )
    size: ClassVar[tuple[float, float]] = (10.0, 6.5)

    def measure(self, quick: bool, say: Say) -> Measured:
        """Run both scenes with both solvers; keep angles, torques and ways."""
        rows: list[dict[str, Any]] = []
        extra: dict[str, Any] = {}
        for form in FORMS:
            for name, columns in COLUMNS.items():
                run = run_scene(name, QUICK[name] if quick else {}, solver=form)
                extra[f"{form} {name}"] = run
                data = [run.history[column] for column in ("time", *columns)]
                rows += [
                    {"solver": form, "scene": name}
                    | dict(zip(("time", *columns), map(float, values), strict=True))
                    for values in zip(*data, strict=True)
                ]
                say(
                    f"{form}, {name}: " + ", ".join(f"{o.name} {o.value:.3g}" for o in run.outcomes)
                )
        return Measured(rows, extra)

    def judge(self, measured: Measured) -> list[Verdict]:
        """Sign of rotation, finite torque; the plank tilts to the grains and weights slide."""
        verdicts = []
        for form, label in FORMS.items():
            wheel, plank = measured.extra[f"{form} wheel"], measured.extra[f"{form} plank"]
            verdicts.append(_judge_wheel(label, wheel))
            verdicts.append(_judge_plank(label, plank))
        return verdicts

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Speed and torque of the wheel; angle of the plank and ways of the weights."""
        axes = canvas.subplots(2, 2, sharex="row")
        for k, (form, label) in enumerate(FORMS.items()):
            colour = COLOURS[k]
            wheel, plank = measured.extra[f"{form} wheel"], measured.extra[f"{form} plank"]
            time = wheel.history["time"]
            axes[0, 0].plot(time, wheel.history["speed"], color=colour, label=label)
            smooth = np.convolve(wheel.history["torque"], np.ones(15) / 15, "valid")
            axes[0, 1].plot(time[7:-7], smooth, color=colour, label=label)
            time = plank.history["time"]
            axes[1, 0].plot(time, np.degrees(plank.history["angle"]), color=colour, label=label)
            for j in (1, 2):
                axes[1, 1].plot(
                    time, plank.history[f"way {j}"], color=colour, ls=("-", "--")[j - 1]
                )
        axes[0, 1].axhline(measured.extra["p2 wheel"].params.brake, color=INK, lw=0.8, ls=":")
        slip = measured.extra["p2 plank"].params.slip
        axes[1, 0].axhline(math.degrees(math.atan(slip)), color=INK, lw=0.8, ls=":")
        titles = (
            "wheel: speed (rad/s)",
            "wheel: torque of the grains (N m); dotted: brake",
            "plank: angle (degrees); dotted: weights slip",
            "weights: way along the plank (m)",
        )
        for ax, title in zip(axes.flat, titles, strict=True):
            ax.set_title(title, fontsize=10, loc="left")
            ax.set_xlabel("t (s)")
        axes[0, 0].legend(frameon=False)


def _judge_wheel(label: str, run: SceneRun) -> Verdict:
    """It turns with the stream, and the torque on it is finite and positive."""
    assert isinstance(run.params, WheelParams)
    turned = float(run.history["angle"][-1])
    torque = float(run.history.last("torque", 1.0).mean())
    fine = turned > 1.0 and math.isfinite(torque) and torque > 0.0
    text = f"wheel turned {turned:.1f} rad with the stream, mean torque {torque:.2f} N m"
    return Verdict(fine, f"{label}: {text} (brake {run.params.brake:g})")


def _judge_plank(label: str, run: SceneRun) -> Verdict:
    """It tilts to the side of the grains, and both weights slide, not before they must."""
    assert isinstance(run.params, PlankParams)
    angle = run.history["angle"]
    ways = [run.history[f"way {k}"] for k in (1, 2)]
    slid = [bool((way > 0.1).any()) for way in ways]
    begun = [math.degrees(float(angle[int(np.argmax(way > 0.003))])) for way in ways]
    limit = math.degrees(math.atan(run.params.slip))
    fine = all(slid) and min(begun) > 0.95 * limit
    held = float(run.history["off_pivot"].max()) < DRIFT
    text = f"plank tilted {math.degrees(float(angle.max())):.1f} degrees, weights slid from "
    text += f"{begun[0]:.1f} and {begun[1]:.1f} degrees on (friction angle {limit:.1f})"
    return Verdict(fine and held, f"{label}: {text}")
