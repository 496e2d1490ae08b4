"""[Bell05] Fig. 3: restitution against impact speed for four pairs of exponents."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.bell2005 import FIGURES
from berm.apps.figures.holz2014.drawing import COLOURS
from berm.core.materials import Material
from berm.laws.normal_power import Power
from berm.solvers.dem.solver import DEM
from berm.world.world import World

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

Array = npt.NDArray[np.float64]

PAIRS = ((0.0, 1.0), (0.0, 1.5), (0.25, 1.5), (0.5, 1.5))  # alpha, beta
K_R, DAMPINGS = 1.0e6, (0.0, 50.0, 100.0, 250.0, 500.0)
RADIUS = 0.5  # m; each ball weighs 2 kg, so that m_eff = 1
LONG = 60.0  # 1/rate of the oscillator: who is not apart by then stays
CONSTANT = 2.0e-3  # change of e over all speeds that counts as none


@FIGURES.register("3")
class Restitution(Figure):
    """Pairs of balls in a world without gravity, through the law `power`."""

    number: ClassVar[str] = "3"
    title: ClassVar[str] = "restitution against impact speed"
    claim: ClassVar[str] = (
        "e does not depend on speed in the linear model and with alpha = 1/4; it falls with "
        "alpha = 1/2 and rises with alpha = 0, beta = 3/2"
    )
    setup: ClassVar[str] = (
        "k_r = 1e6, k_d = 0, 50, 100, 250, 500; two balls of 2 kg each (m_eff = 1 kg is not "
        "printed), 0.01 to 10 m/s, discrete elements with 1,000 steps a contact"
    )
    size: ClassVar[tuple[float, float]] = (9.0, 7.0)

    def measure(self, quick: bool, say: Say) -> Measured:
        """Collide a pair of balls at each speed."""
        speeds = np.logspace(-2, 1, 4 if quick else 13)
        rows: list[dict[str, Any]] = []
        for alpha, beta in PAIRS:
            for k_d in DAMPINGS:
                found = restitution(alpha, beta, k_d, speeds)
                rows += [
                    {"alpha": alpha, "beta": beta, "k_d": k_d, "speed": float(v), "e": float(e)}
                    for v, e in zip(speeds, found, strict=True)
                ]
            say(f"alpha {alpha:g}, beta {beta:g}: done")
        return Measured(rows)

    def judge(self, measured: Measured) -> list[Verdict]:
        """Constant, falling or rising with speed at every k_d above 0; 1 without damping."""
        verdicts = []
        for alpha, beta in PAIRS:
            table = {
                k: np.array([r["e"] for r in measured.rows
                             if (r["alpha"], r["beta"], r["k_d"]) == (alpha, beta, k)])
                for k in DAMPINGS
            }  # fmt: skip
            damped = np.array([table[k] for k in DAMPINGS if k > 0])
            steps = np.diff(damped, axis=1)
            word, fine = {
                (0.0, 1.0): ("constant", np.ptp(damped, axis=1).max() < CONSTANT),
                (0.25, 1.5): ("constant", np.ptp(damped, axis=1).max() < CONSTANT),
                (0.5, 1.5): ("falling", (steps < 0).all()),
                # at k_d 500 balls stick at all speeds, at lower k_d only when slow
                (0.0, 1.5): (
                    "rising",
                    ((steps > 0) | (damped[:, :-1] == 0)).all() and (damped[:-1, -1] > 0).all(),
                ),
            }[alpha, beta]
            whole = np.abs(table[0.0] - 1.0).max() < CONSTANT
            mid = table[250.0]
            verdicts.append(
                Verdict(
                    bool(fine and whole),
                    f"alpha {alpha:g}, beta {beta:g}: {word}; at k_d 250 e = {mid[0]:.4f} at "
                    f"0.01 m/s, {mid[-1]:.4f} at 10 m/s",
                )
            )
        return verdicts

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Four panels, a line for each k_d."""
        for n, (alpha, beta) in enumerate(PAIRS):
            ax = canvas.add_subplot(2, 2, n + 1)
            for k, colour in zip(DAMPINGS, COLOURS, strict=True):
                line = [r for r in measured.rows
                        if (r["alpha"], r["beta"], r["k_d"]) == (alpha, beta, k)]  # fmt: skip
                ax.semilogx([r["speed"] for r in line], [r["e"] for r in line], "o-", ms=3,
                            color=colour, label=f"$k_d$ = {k:g}")  # fmt: skip
            ax.set_ylim(-0.03, 1.05)
            ax.set_title(rf"$\alpha$ = {alpha:g}, $\beta$ = {beta:g}", fontsize=10, loc="left")
            ax.set_xlabel("speed (m/s)")
            ax.set_ylabel("restitution")
            if n == 3:
                ax.legend(frameon=False, fontsize=8, loc="lower left")


def restitution(
    alpha: float, beta: float, k_d: float, speeds: Array, steps_a_contact: int = 1000
) -> Array:
    """Speed of separation over speed of approach of two balls with m_eff = 1 kg; 0: they stick."""
    solver = DEM(
        normal=Power(K_R, k_d, alpha, beta), tangential="none", steps_a_contact=steps_a_contact
    )
    # rate of the oscillator at the lowest speed
    slow = math.sqrt(K_R * (float(speeds.min()) ** 2 / K_R) ** ((beta - 1.0) / (beta + 1.0)))
    frames = 40
    world = World(gravity=(0.0, 0.0, 0.0), dt=LONG / slow / frames, solver=solver)
    stuff = Material("ball", density=2.0 / (4.0 / 3.0 * math.pi * RADIUS**3))
    apart = 4.0 * RADIUS * np.arange(len(speeds))  # pairs meet along y
    place = np.array([[x, side * RADIUS, 0.0] for x in apart for side in (-1.0, 1.0)])
    pace = np.array([[0.0, -0.5 * side * v, 0.0] for v in speeds for side in (-1.0, 1.0)])
    tags = world.add_grains(place, RADIUS, pace, material=stuff)
    for _ in range(frames):
        world.step()
        rows = world.grains.rows_of(tags)
        y, v = world.grains.position[rows, 1], world.grains.velocity[rows, 1]
        if (y[1::2] - y[::2] > 2.0 * RADIUS).all():
            break
    free = y[1::2] - y[::2] > 2.0 * RADIUS
    result: Array = np.where(free, (v[1::2] - v[::2]) / speeds, 0.0)
    return result
