"""[Lacoursiere10] Fig. 1: the system matrix H, and what it costs to factor it."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.holz2014.drawing import COLOURS, INK
from berm.apps.figures.lacoursiere2010 import FIGURES, factoring
from berm.apps.figures.lacoursiere2010.system import JOINT, System, system_of
from berm.apps.figures.lacoursiere2010.worlds import heap, pile, rocky_ground
from berm.machines import add

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

ROCKS = 30  # as printed
MOST_CONTACTS = 20  # of a rock, "at worst"
LINEAR = 2.6  # factor time of twice as many rocks, at most
FOLLOWED = "superlu", "superlu_friction", "blocks", "qdldl"
LABELS = {
    "superlu": "SuperLU, pressing normals",
    "superlu_friction": "SuperLU, all rows with friction",
    "blocks": "berm's 6 x 6 blocks",
    "qdldl": "QDLDL, order included",
}


@FIGURES.register("1")
class Matrix(Figure):
    """H = [M -G^T; G Sigma] from the rows of the core."""

    number: ClassVar[str] = "1"
    title: ClassVar[str] = "the system matrix H, and direct factors of it"
    claim: ClassVar[str] = (
        "H is sparse and falls into blocks of rocks, vehicle and few contacts between them; at "
        "worst 20 contacts a rock; rocks and loader are overdetermined; a good direct solver "
        "(SuperLU) takes time in proportion to the number of rocks"
    )
    setup: ClassVar[str] = (
        "30 rocks of composite spheres, slumped on the ground; berm's wheel loader (13 bodies, 15 "
        "joints, two differentials; in print 12 and 15); both together, the rocks in the bucket. "
        "Factor times of joints and pressing normals for 125 to 1,000 rocks on one thread. The "
        "fluid block (20,000 particles) comes with berm's fluid."
    )
    size: ClassVar[tuple[float, float]] = (11.0, 7.5)

    def measure(self, quick: bool, say: Say) -> Measured:
        """Three systems, and factor times of growing heaps."""
        systems = {
            "rocks": system_of(heap(ROCKS, 1.5 if quick else 5.0)),
            "machine": system_of(machine()),
            "together": system_of(machine(12 if quick else ROCKS)),
        }
        rows: list[dict[str, Any]] = []
        for name, system in systems.items():
            rows.append({"system": name, **system.numbers()})
            say(f"{name}: {rows[-1]}")
        for count in (20, 40) if quick else (125, 250, 500, 1000):
            grown = system_of(heap(count, 1.5 if quick else 5.0))
            found = factoring.times(grown)
            rows.append(
                {"system": f"{count} rocks", "bodies": count, "rows": int(grown.pressing().sum()),
                 **{f"{name}_ms": ms for name, ms in found.items()},
                 "wrong": factoring.wrong(grown)}
            )  # fmt: skip
            say(
                f"{count} rocks: {', '.join(f'{LABELS[k]} {ms:.3g} ms' for k, ms in found.items())}"
            )
        return Measured(rows, {"systems": systems})

    def judge(self, measured: Measured) -> list[Verdict]:
        """Contacts a rock, dependent rows, and the growth of factor times."""
        of = {row["system"]: row for row in measured.rows}
        rocks, loader, both = of["rocks"], of["machine"], of["together"]
        verdicts = [
            Verdict(
                rocks["contacts_most"] <= MOST_CONTACTS,
                f"{rocks['contacts_a_body']:.1f} contacts press on a rock, {rocks['contacts_most']}"
                f" at most (claimed {MOST_CONTACTS}); H of {rocks['size']} has "
                f"{rocks['nonzeros_a_row']:.1f} entries a row, bandwidth {rocks['bandwidth']}, "
                f"{rocks['bandwidth_reordered']} in the order of Cuthill and McKee",
            ),
            *(
                Verdict(
                    row["rows"] > row["rank"],
                    f"{name}: {row['rows']} rows of rank {row['rank']} for {row['dof']} degrees "
                    "of freedom: overdetermined",
                )
                for name, row in (("rocks", rocks), ("loader", loader))
            ),
            self._nested(both, measured.extra["systems"]["together"]),
        ]
        heaps = [row for row in measured.rows if row["system"].endswith(" rocks")]
        for name in FOLLOWED:
            ms = [row[f"{name}_ms"] for row in heaps if f"{name}_ms" in row]
            if len(ms) < 2:
                continue
            worst = max(b / a for a, b in pairwise(ms))
            power = math.log(ms[-1] / ms[0]) / math.log(heaps[-1]["bodies"] / heaps[0]["bodies"])
            verdicts.append(
                Verdict(
                    bool(worst <= LINEAR),
                    f"{LABELS[name]}: {ms[0]:.3g} to {ms[-1]:.3g} ms for {heaps[0]['bodies']} to "
                    f"{heaps[-1]['bodies']} rocks, n^{power:.2f}; twice the rocks cost at most "
                    f"{worst:.2f} times (wanted {LINEAR})",
                )
            )
        return verdicts

    def _nested(self, row: dict[str, Any], system: System) -> Verdict:
        """Rocks and vehicle meet in few rows only."""
        share = float((_blocks(system)[1] == 2).mean())
        return Verdict(
            bool(0.0 < share < 0.5),
            f"together: {row['size']}, {100 * share:.0f} % of the rows join rocks and vehicle",
        )

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Patterns of non-zeros on top, times below."""
        parts = canvas.add_gridspec(2, 3, height_ratios=(1.25, 1.0))
        for k, (name, system) in enumerate(measured.extra["systems"].items()):
            ax = canvas.add_subplot(parts[0, k])
            if name == "together":
                _draw_nested(ax, system)
            else:
                _draw_pattern(ax, system.matrix(), 6 * len(system.body))
                ax.set_title(f"{name}: {len(system.body)} bodies, {len(system.sigma)} rows",
                             fontsize=10, loc="left")  # fmt: skip
        ax = canvas.add_subplot(parts[1, :])
        heaps = [row for row in measured.rows if row["system"].endswith(" rocks")]
        for name, colour in zip(FOLLOWED, COLOURS, strict=False):
            seen = [(r["bodies"], r[f"{name}_ms"]) for r in heaps if f"{name}_ms" in r]
            if seen:
                n, ms = np.array(seen).T
                ax.loglog(n, ms, "o-", color=colour, label=LABELS[name])
                ax.loglog(n, ms[0] * n / n[0], ":", color=colour, lw=1)
        counts = [row["bodies"] for row in heaps]
        ax.set_xticks(counts, [f"{n:,}" for n in counts])
        ax.minorticks_off()
        ax.set_xlabel("rocks (dotted: in proportion)")
        ax.set_ylabel("factor time (ms)")
        ax.legend(frameon=False, fontsize=8)


def machine(rocks: int = 0) -> Any:
    """The loader on the ground, at rest; with rocks, they fell into and about its bucket."""
    world = rocky_ground()
    add(world, "loader", pose="carry")
    if rocks:
        pile(world, rocks, base=(4.0, 0.0, 2.2), across=(2, 3))
    for _ in range(240 if rocks else 30):
        world.step()
    return world


def _draw_pattern(ax: Axes, matrix: Any, bodies: int) -> None:
    """Draw where entries are, with lines between velocities and multipliers."""
    at = matrix.tocoo()
    ax.plot(at.col, at.row, ",", color=COLOURS[0], alpha=0.8)
    ax.plot(at.col, at.row, "o", ms=max(0.3, 250 / matrix.shape[0] ** 1.1), mew=0, color=COLOURS[0])
    ax.axhline(bodies - 0.5, color=INK, lw=0.5)
    ax.axvline(bodies - 0.5, color=INK, lw=0.5)
    ax.set_xlim(-1, matrix.shape[0])
    ax.set_ylim(matrix.shape[0], -1)
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])


def _blocks(system: System) -> tuple[Any, Any]:
    """0: rocks, 1: vehicle, 2: between them; of the bodies' columns and of the rows."""
    jointed = np.zeros(system.body.max() + 1, bool)
    jointed[system.ends[system.kind == JOINT].ravel()] = True
    jointed[0] = False
    side = jointed[system.body].astype(int)
    place = np.full(system.body.max() + 1, -1)
    place[system.body] = side
    a, b = place[system.ends].T
    row = np.where((a >= 0) & (b >= 0) & (a != b), 2, np.maximum(a, b))
    return np.repeat(side, 6), row


def _draw_nested(ax: Axes, system: System) -> None:
    """Rocks, vehicle, contacts between them: bodies and rows of each block together."""
    columns, rows = _blocks(system)
    block = np.concatenate([columns, rows])
    order = np.argsort(block, kind="stable")
    matrix = system.matrix()[order][:, order]
    _draw_pattern(ax, matrix, -1)
    edges = np.cumsum(np.bincount(block, minlength=3))[:2]
    for edge in edges:
        ax.axhline(edge - 0.5, color=INK, lw=0.6)
        ax.axvline(edge - 0.5, color=INK, lw=0.6)
    ax.set_title("together: rocks, vehicle, contacts", fontsize=10, loc="left")
