"""What a reproduced figure is, and the run that writes pictures, data and a report."""

from __future__ import annotations

import csv
import importlib
import json
import math
import os
import pkgutil
import platform
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import berm
from berm.core.errors import InputError
from berm.core.registry import Registry
from berm.io.pictures import figure as empty_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

Rows = list[dict[str, Any]]
Say = Callable[[str], None]

PAPERS: Registry[Registry[type[Figure]]] = Registry("paper")


def paper(name: str) -> Registry[type[Figure]]:
    """Return a new table for the figures of a paper, filed under the paper's name."""
    table: Registry[type[Figure]] = Registry(f"figure of {name}")
    PAPERS.register(name)(table)
    return table


@dataclass(frozen=True)
class Verdict:
    """Whether one claim holds, in numbers."""

    ok: bool
    text: str


@dataclass
class Measured:
    """What a figure's runs gave: rows of the data file, and whatever the picture needs."""

    rows: Rows
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class Result:
    """A reproduced figure."""

    paper: str
    number: str
    title: str
    claim: str
    setup: str
    verdicts: list[Verdict]
    picture: Path
    data: Path
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether every claim of the figure was reproduced."""
        return all(verdict.ok for verdict in self.verdicts)

    @property
    def verdict(self) -> str:
        """Return all verdicts as one line."""
        return "; ".join(
            f"{'reproduced' if one.ok else 'MISSED'}: {one.text}" for one in self.verdicts
        )


class Figure(ABC):
    """One figure of a paper: measures, judges its claim, draws."""

    number: ClassVar[str]
    title: ClassVar[str]
    claim: ClassVar[str]
    setup: ClassVar[str]
    size: ClassVar[tuple[float, float]] = (9.0, 5.0)

    @abstractmethod
    def measure(self, quick: bool, say: Say) -> Measured:
        """Run what the figure shows; `quick`: smaller worlds and fewer seeds."""

    @abstractmethod
    def judge(self, measured: Measured) -> list[Verdict]:
        """Compare with the claim; a miss is a miss."""

    @abstractmethod
    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Draw the figure."""


def run_figures(
    paper: str,
    out: str | os.PathLike[str] = "berm-figures",
    only: Iterable[str | int] | None = None,
    quick: bool = False,
    say: Say = print,
) -> list[Result]:
    """Reproduce the figures of a paper into a folder, with a report.md of all verdicts."""
    table = load(paper)
    names = table.names() if only is None else [str(name) for name in only]
    chosen = [(name, table.get(name)()) for name in names]
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    results = []
    for name, one in chosen:
        say(f"{paper}, figure {name}: {one.title}")
        results.append(_run_one(paper, one, folder, quick, say))
        say(f"  {results[-1].verdict}")
    _write_report(paper, results, folder, quick)
    say(f"report: {folder / 'report.md'}")
    return results


def load(name: str) -> Registry[type[Figure]]:
    """Import the paper's module, so that its figures register themselves; return its table."""
    here = importlib.import_module("berm.apps.figures")
    known = [m.name for m in pkgutil.iter_modules(here.__path__) if m.ispkg]
    if name not in known:
        raise InputError("unknown paper", name, ", ".join(known))
    module = importlib.import_module(f"berm.apps.figures.{name}")
    for part in pkgutil.iter_modules(module.__path__):
        importlib.import_module(f"berm.apps.figures.{name}.{part.name}")
    return PAPERS.get(name)


def _run_one(paper: str, one: Figure, folder: Path, quick: bool, say: Say) -> Result:
    begin = time.perf_counter()
    measured = one.measure(quick, lambda text: say(f"  {text}"))
    verdicts = one.judge(measured)
    stem = folder / f"{paper}-fig{one.number}"
    data = stem.with_suffix(".csv")
    _write_rows(data, measured.rows)
    canvas = empty_figure(*one.size)
    one.draw(canvas, measured)
    canvas.suptitle(f"{paper} Fig. {one.number}: {one.title}", fontsize=12, x=0.01, ha="left")
    picture = stem.with_suffix(".png")
    canvas.savefig(picture, dpi=130)
    result = Result(
        paper, one.number, one.title, one.claim, one.setup, verdicts, picture, data,
        time.perf_counter() - begin,
    )  # fmt: skip
    stem.with_suffix(".json").write_text(
        json.dumps(
            {
                "paper": paper, "figure": one.number, "title": one.title, "claim": one.claim,
                "setup": one.setup, "quick": quick, "reproduced": result.ok,
                "verdicts": [{"reproduced": v.ok, "text": v.text} for v in verdicts],
                "rows": _plain(measured.rows) if len(measured.rows) <= 200 else data.name,
                "seconds": round(result.seconds, 2),
            },
            indent=1,
        )
        + "\n",
        encoding="utf-8",
    )  # fmt: skip
    return result


def _plain(rows: Rows) -> Rows:
    """Return rows that JSON can hold: what is not a number becomes null."""
    return [
        {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
        for row in rows
    ]


def _write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    names: list[str] = []
    for row in rows:
        names += [name for name in row if name not in names]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)


def _write_report(paper: str, results: list[Result], folder: Path, quick: bool) -> None:
    good = sum(result.ok for result in results)
    lines = [
        f"# Figures of {paper}", "",
        f"{good} of {len(results)} reproduced"
        + (" (quick variant: smaller worlds, fewer seeds)." if quick else "."),
        f"berm {berm.__version__}, Python {platform.python_version()}, "
        f"{os.cpu_count()} cores, {platform.machine()}.", "",
    ]  # fmt: skip
    for result in results:
        lines += [
            f"## Fig. {result.number}: {result.title}", "",
            f"![Fig. {result.number}]({result.picture.name})", "",
            f"- **Set-up**: {result.setup}",
            f"- **Claim**: {result.claim}",
            *(
                f"- **{'Reproduced' if v.ok else 'Missed'}**: {v.text}" for v in result.verdicts
            ),
            f"- Data: [{result.data.name}]({result.data.name}), "
            f"{result.seconds:.0f} s on this machine", "",
        ]  # fmt: skip
    (folder / "report.md").write_text("\n".join(lines), encoding="utf-8")


def mean_and_spread(values: Iterable[float]) -> tuple[float, float]:
    """Mean and standard deviation of the finite values."""
    kept = [value for value in values if math.isfinite(value)]
    if not kept:
        return math.nan, math.nan
    mean = sum(kept) / len(kept)
    return mean, math.sqrt(sum((value - mean) ** 2 for value in kept) / len(kept))
