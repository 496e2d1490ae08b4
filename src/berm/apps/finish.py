"""What `berm run` does when the last step is done: check, pictures, summary, and where they are."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from berm.apps import console, info, job
from berm.apps.console import number, say, table
from berm.core.errors import BermError, InputError

if TYPE_CHECKING:
    from berm.apps.run import Run
    from berm.scenes.base import Outcome
    from berm.world.world import World

STRAIGHT = 0.95  # r2 of a flank from which on a heap of a scene file counts as one
STILL = 0.05  # m/s, root mean square: what moves faster is no heap yet
LEDGER = ("ground", "live", "waiting", "left", "error")
CLIP_SECONDS, CLIP_SIZE = 4.0, (640, 360)


def finish(run: Run, steps: int) -> int:
    """Check the outcome, write pictures and summary, print all; return the exit code."""
    outcomes = _check(run)
    angle = _angle(run, outcomes)
    files = {"recording": job.RECORDING, "checkpoint": job.CHECKPOINT}
    if run.request.pictures:
        files |= _pictures(run, angle) | _rendered(run)
    files["summary"] = job.SUMMARY
    _write_summary(run, outcomes, angle, files, steps)
    if not run.request.quiet:
        _say_result(run, outcomes, angle, files, steps)
    failed = [outcome for outcome in outcomes if not outcome.ok]
    if failed and run.request.quiet:
        console.say_error("check failed: " + "; ".join(str(outcome) for outcome in failed))
    return console.CHECK_FAILED if failed else console.OK


def _check(run: Run) -> list[Outcome]:
    if run.steps < round(run.job.full / run.world.dt):
        return []
    return list(run.job.check(run.world, run.history))


def _angle(run: Run, outcomes: list[Outcome]) -> float | None:
    """Return the angle of repose in degrees, where there is a heap."""
    for outcome in outcomes:
        if "angle of repose" in outcome.name and math.isfinite(outcome.value):
            return float(outcome.value)
    if run.job.params is not None:
        return None  # a scene that heaps grains up says so, once it has run long enough
    from berm.world.measure import angle_of_repose, energy

    mass = float(run.world.grains.mass.sum())
    if not energy(run.world).kinetic < 0.5 * mass * STILL**2:
        return None
    try:
        slope = angle_of_repose(run.world)
    except (BermError, ValueError, ArithmeticError):
        return None
    return float(slope.degrees) if slope.r2 > STRAIGHT else None


def _pictures(run: Run, angle: float | None) -> dict[str, str]:
    from berm.io import pictures
    from berm.io.recording import Recording
    from berm.stage.stage import seen_grains

    folder = run.folder
    position, radius = seen_grains(run.world)
    title = f"{run.job.name}, t = {run.world.time:.2f} s"
    made: dict[str, str] = {}
    try:
        pictures.side_view(
            position,
            radius,
            folder / job.SIDE_VIEW,
            angle=angle,
            title=title + (f", angle of repose {angle:.1f}°" if angle is not None else ""),
            view=_broad_side(run.world),
            floor=_floor(run.world),
            cloths=[(cloth.position, cloth.faces) for cloth in run.world.cloths],
        )
        made["side view"] = job.SIDE_VIEW
        with Recording(run.recorder.path) as recording:
            columns = recording.columns
        if len(columns["time"]):
            pictures.run_plot(columns, folder / job.RUN_PLOT, title=title)
            made["plot"] = job.RUN_PLOT
    except InputError:
        raise
    except BermError as error:  # no matplotlib: the run itself is fine
        say(f"[yellow]no pictures:[/] {console.escape(str(error))}")
    return made


def _rendered(run: Run) -> dict[str, str]:
    """Draw the last moment and a short clip of the run, where there are the means to."""
    from berm.io.recording import Recording
    from berm.render.api import render
    from berm.render.context import NoGraphics

    made: dict[str, str] = {}
    grains = run.world.grains.n
    rate = 12.0 if grains <= 5_000 else 6.0 if grains <= 50_000 else 3.0  # a few seconds' work
    try:
        with Recording(run.recorder.path) as recording:
            if not len(recording):
                return made
            render(recording, run.folder / job.PICTURE)
            made["picture"] = job.PICTURE
            span = float(recording.times[-1] - recording.times[0])
            if span > 0:
                render(
                    recording, run.folder / job.CLIP, size=CLIP_SIZE, fps=rate,
                    speed=max(1.0, span / CLIP_SECONDS), progress=not run.request.quiet,
                )  # fmt: skip
                made["clip"] = job.CLIP
    except NoGraphics as error:  # the run itself is fine
        say(f"[yellow]not drawn:[/] {console.escape(str(error))}")
    except KeyboardInterrupt:
        say("[yellow]clip cut short[/]")
        made["clip"] = job.CLIP
    return made


def _floor(world: World) -> float | None:
    """Return the height of a level plane, if there is one."""
    from berm.core.shapes import Plane

    for body in world.bodies:
        if isinstance(body.shape, Plane) and body.rotation[2, 2] > 0.999:
            return float(body.position[2])
    return None


def _broad_side(world: World) -> str:
    """Return the horizontal axis along which one sees most of the cloths; else y."""
    seen = np.zeros(3)
    for cloth in world.cloths:
        a, b, c = (cloth.position[cloth.faces[:, k]] for k in range(3))
        seen += np.abs(np.cross(b - a, c - a)).sum(axis=0)
    return "x" if seen[0] > seen[1] else "y"


def _write_summary(
    run: Run, outcomes: list[Outcome], angle: float | None, files: dict[str, str], steps: int
) -> None:
    from berm.io.layout import describe_solver, plain

    world, report = run.world, run.world.report
    summary: dict[str, Any] = {
        "scene": run.job.name,
        "parameters": run.job.parameters,
        "solver": describe_solver(world.solver),
        "seed": world.seed,
        "seconds": world.time,
        "steps": world.step_count,
        "dt": world.dt,
        "wall_seconds": run.wall,
        "real_time_factor": steps * world.dt / run.wall if run.wall > 0 and steps else None,
        "grains": world.grains.n,
        "contacts": report.contacts,
        "wall_contacts": report.wall_contacts,
        "overlap_mean": report.overlap_mean,
        "overlap_max": report.overlap_max,
        "kinetic_energy": report.kinetic_energy,
        "mass_poured": world.mass_added,
        "mass_removed": world.mass_removed,
        "terrain": ledger_of(world),
        "angle_of_repose": angle,
        "checks": [
            {
                "name": o.name,
                "ok": bool(o.ok),
                "value": float(o.value),
                "unit": o.unit,
                "expected": o.expected,
            }
            for o in outcomes
        ],
        "ok": all(o.ok for o in outcomes),
        "frames": run.recorder.frames,
        "files": files,
        "machine": info.machine(),
    }
    text = json.dumps(_finite(plain(summary)), indent=2, ensure_ascii=False)
    (run.folder / job.SUMMARY).write_text(text + "\n", encoding="utf-8")


def ledger_of(world: World) -> dict[str, dict[str, float]] | None:
    """Return where the mass (kg) of each soil of the terrain is; None where there is none."""
    if world.terrain is None:
        return None
    ledger = world.terrain.ledger(world)
    return {
        soil.name: {name: float(getattr(ledger, name)[k]) for name in LEDGER}
        for k, soil in enumerate(world.terrain.soils)
    }


def _say_ledger(world: World) -> None:
    ledger = ledger_of(world)
    if ledger is None:
        return
    shown = table("soil, kg", *LEDGER, right=LEDGER)
    for name, where in ledger.items():
        shown.add_row(console.escape(name), *(f"{where[column]:,.3f}" for column in LEDGER))
    console.out.print(shown)


def _finite(value: Any) -> Any:
    """Return JSON data without the NaN and infinity that JSON lacks."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value


def _say_result(
    run: Run, outcomes: list[Outcome], angle: float | None, files: dict[str, str], steps: int
) -> None:
    world = run.world
    factor = steps * world.dt / run.wall if run.wall > 0 else math.inf
    plural = "s" * (world.grains.n != 1)
    if steps:
        say(
            f"{steps * world.dt:g} s simulated in {run.time_taken()} "
            f"([bold]{factor:.3g}x[/] real time), {world.grains.n:,} grain{plural}, "
            f"{world.report.contacts + world.report.wall_contacts:,} contacts"
            + (f", angle of repose [bold]{angle:.1f}°[/]" if angle is not None else "")
        )
    else:
        say(f"nothing left to do: the run is at t = {world.time:.3f} s")
    _say_ledger(world)
    if outcomes:
        shown = table("", "check", "value", "expected", right=("value",))
        for o in outcomes:
            mark = "[green]ok[/]" if o.ok else "[bold red]MISS[/]"
            value = f"{number(o.value)} {o.unit}".strip()
            shown.add_row(mark, console.escape(o.name), value, console.escape(str(o.expected)))
        console.out.print(shown)
    elif run.steps < round(run.job.full / world.dt):
        say("[dim]not checked: the run is shorter than the scene needs[/]")
    width = max(len(name) for name in files)
    for name, file in files.items():
        say(f"[dim]{name:{width}}[/]  {run.folder / Path(file)}")
