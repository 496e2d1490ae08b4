"""[Holz14] Fig. 6: soil sticks in a tilted bucket, and accelerating motions release it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.holz2014 import FIGURES
from berm.apps.figures.holz2014.drawing import COLOURS, INK
from berm.scenes.base import run_scene
from berm.scenes.excavator_loam import CARRIED, FALLS, SHAKING, STICKS, TILTED, loads

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

ADHESIONS = (0.0, 4e3, 8e3)  # Pa, of the bucket's steel; the loam's grains have about 7 kPa
QUICK = {"grain": 0.07}


@FIGURES.register("6")
class Bucket(Figure):
    """The scene excavator-loam with clean and with sticky steel."""

    number: ClassVar[str] = "6"
    title: ClassVar[str] = "an excavator's bucket in cohesive soil: what sticks, what comes off"
    claim: ClassVar[str] = (
        "adhesion keeps soil in the tilted bucket; accelerating motions of the bucket release it"
    )
    setup: ClassVar[str] = (
        "the bucket of the 20-t excavator (1.0 m3) digs loam on a given way, is lifted, tilted "
        "mouth down, and jerked by 25 degrees eight times; grains of 4 cm. Nothing of this is "
        "printed."
    )
    size: ClassVar[tuple[float, float]] = (8.0, 4.5)

    def measure(self, quick: bool, say: Say) -> Measured:
        """Load over time for each adhesion of the steel."""
        rows: list[dict[str, Any]] = []
        extra: dict[str, Any] = {}
        for adhesion in ADHESIONS:
            run = run_scene("excavator-loam", {"adhesion": adhesion} | (QUICK if quick else {}))
            rows += [
                {"adhesion": adhesion, "time": float(t), "load": float(kg)}
                for t, kg in zip(run.history["time"], run.history["load"], strict=True)
            ]
            extra[f"{adhesion:g}"] = loads(run.history)
            say(f"{adhesion / 1e3:g} kPa: {', '.join(f'{kg:.0f} kg' for kg in loads(run.history))}")
        return Measured(rows, extra)

    def judge(self, measured: Measured) -> list[Verdict]:
        """Sticky steel holds some of the load until it is shaken; clean steel holds none."""
        verdicts = []
        for adhesion in (ADHESIONS[0], ADHESIONS[-1]):
            carried, tilted, left = measured.extra[f"{adhesion:g}"]
            share = tilted / max(carried, 1e-9)
            wanted = f"above {STICKS:g}" if adhesion else f"below {FALLS:g}"
            fine = share > STICKS if adhesion else share < FALLS
            text = f"{tilted:.0f} of {carried:.0f} kg stay when tilted ({share:.3f}, {wanted})"
            verdicts.append(Verdict(fine, f"steel with {adhesion / 1e3:g} kPa: {text}"))
            if adhesion:
                rest = left / max(carried, 1e-9)
                text = f"{left:.0f} kg left after shaking ({rest:.3f}, below {FALLS:g})"
                verdicts.append(Verdict(rest < FALLS, f"steel with {adhesion / 1e3:g} kPa: {text}"))
        return verdicts

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Load against time, with what the bucket does."""
        ax = canvas.add_subplot()
        for k, adhesion in enumerate(ADHESIONS):
            chosen = [row for row in measured.rows if row["adhesion"] == adhesion]
            ax.plot(
                [row["time"] for row in chosen], [row["load"] for row in chosen],
                color=COLOURS[k % len(COLOURS)], lw=1.8, label=f"steel with {adhesion / 1e3:g} kPa",
            )  # fmt: skip
        for t, what in ((CARRIED, "lifted"), (TILTED, "tilted"), (SHAKING, "shaken")):
            ax.axvline(t, color=INK, lw=0.6, ls=":")
            ax.text(t, ax.get_ylim()[1], f" {what}", va="top", fontsize=9, color=INK)
        ax.set_xlabel("time (s)")
        ax.set_ylabel("load of the bucket (kg)")
        ax.legend(frameon=False)
