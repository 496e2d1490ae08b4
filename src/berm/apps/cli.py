"""The command line. Each command imports what it needs, so that `berm --help` is quick."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="berm",
    help="berm: an open granular-matter and earthmoving simulator.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)

EXIT_CODES = (
    "Exit codes: 0 ok, 1 check failed, 2 bad input, 3 simulation error or full disk, "
    "130 interrupted."
)

# Options that several commands have.
Parameters = Annotated[
    list[str] | None,
    typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="Parameter of the scene."),
]
Solver = Annotated[str | None, typer.Option(help="Solver, e.g. p2, published, vts:ij, dem.")]
SolverOptions = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Option of the solver, e.g. substeps=20."),
]
Threads = Annotated[int | None, typer.Option(help="Threads; the result is the same.")]
Seed = Annotated[int | None, typer.Option(help="Seed of everything random.")]
Host = Annotated[
    str | None,
    typer.Option(
        help="Address to listen at (127.0.0.1: this machine only; beyond it a token is required)."
    ),
]
Port = Annotated[
    int | None, typer.Option(min=0, max=65535, help="Port; 0: a free one (8017, or a free one).")
]
OpenBrowser = Annotated[
    bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Recorded = Annotated[Path, typer.Argument(help="Recording (.h5), or the folder of a run.")]


def _version(wanted: bool) -> None:
    if wanted:
        import berm

        typer.echo(f"berm {berm.__version__}")
        raise typer.Exit


@app.callback()
def common(
    debug: Annotated[bool, typer.Option(help="Show tracebacks of errors.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """berm: an open granular-matter and earthmoving simulator."""
    from berm.apps import console

    console.settings["debug"] = debug


@app.command(epilog=EXIT_CODES)
def run(
    scene: Annotated[str, typer.Argument(help="Name of a scene, or a .yaml or .toml file.")],
    parameter: Parameters = None,
    solver: Solver = None,
    solver_option: SolverOptions = None,
    seconds: Annotated[float | None, typer.Option(help="Simulated time, s.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the results (berm-out/SCENE).")
    ] = None,
    record_every: Annotated[
        float | None, typer.Option(help="Simulated time between frames, s; 0: every step (1/30).")
    ] = None,
    record_fields: Annotated[
        str | None, typer.Option(help="Of velocity, bodies, cloths, overlap, force (first three).")
    ] = None,
    threads: Threads = None,
    seed: Seed = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from OUT's checkpoint.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the run that lies in OUT.")
    ] = False,
    quiet: Quiet = False,
    pictures: Annotated[bool, typer.Option(help="Draw the side view and the plot.")] = True,
    view: Annotated[bool, typer.Option("--view", help="Show it in the browser meanwhile.")] = False,
    host: Host = None,
    port: Port = None,
    open_browser: OpenBrowser = True,
) -> None:
    """Run a scene; write recording, checkpoint, pictures and summary; check the outcome.

    Ctrl-C leaves a whole recording and a checkpoint; --resume goes on from it, bit for bit. A run
    that lies in OUT is replaced with --overwrite only.
    """
    from berm.apps.job import Request, pairs
    from berm.apps.run import run as go

    request = Request(
        target=scene,
        parameters=pairs(parameter or [], "-p"),
        solver=solver,
        solver_options=pairs(solver_option or [], "--solver-option"),
        seconds=seconds,
        out=out,
        record_every=record_every,
        record_fields=_words(record_fields),
        threads=threads,
        seed=seed,
        resume=resume,
        overwrite=overwrite,
        quiet=quiet,
        pictures=pictures,
        view=view,
        host=host,
        port=port,
        open_browser=open_browser,
        command=_typed(),
    )
    raise typer.Exit(go(request))


@app.command(epilog=EXIT_CODES)
def view(
    what: Annotated[
        str, typer.Argument(help="Name of a scene, a .yaml or .toml file, or a recording (.h5).")
    ],
    parameter: Parameters = None,
    solver: Solver = None,
    solver_option: SolverOptions = None,
    seconds: Annotated[
        float | None, typer.Option(help="Hold at this simulated time, s (never).")
    ] = None,
    threads: Threads = None,
    seed: Seed = None,
    host: Host = None,
    port: Port = None,
    open_browser: OpenBrowser = True,
) -> None:
    """Show a scene while it is computed, or a recording, in the browser.

    The page turns under the mouse, its sliders act on the running simulation, and keys or a game
    pad steer scenes that can be driven (try: berm view blade). Ctrl-C ends.
    """
    from berm.apps.job import Request, pairs
    from berm.apps.viewer.view import view as go

    request = Request(
        target=what,
        parameters=pairs(parameter or [], "-p"),
        solver=solver,
        solver_options=pairs(solver_option or [], "--solver-option"),
        seconds=seconds,
        threads=threads,
        seed=seed,
        host=host,
        port=port,
        open_browser=open_browser,
    )
    raise typer.Exit(go(request))


@app.command()
def scenes(
    name: Annotated[str | None, typer.Argument(help="One scene: its parameters.")] = None,
) -> None:
    """List the scenes, or the parameters of one."""
    from berm.apps.listing import scenes as show

    show(name)


@app.command()
def materials(
    name: Annotated[str | None, typer.Argument(help="One material: its properties.")] = None,
    angle: Annotated[
        float | None, typer.Option(help="Angle of repose to calibrate friction for, degrees.")
    ] = None,
    strength: Annotated[
        bool, typer.Option("--strength", help="Measure cohesion and friction angle of its bulk.")
    ] = False,
    confining: Annotated[
        str | None,
        typer.Option(help="Stresses of that test, Pa, e.g. 2000,4000,8000; default by adhesion."),
    ] = None,
) -> None:
    """List the materials, or one with the friction that makes it heap up right."""
    from berm.apps.materials import materials as show

    stresses = None if confining is None else _numbers(confining, "--confining")
    show(name, angle, strength, stresses)


@app.command(epilog=EXIT_CODES)
def figures(
    paper: Annotated[str, typer.Argument(help="Paper, e.g. holz2014.")],
    only: Annotated[str | None, typer.Option(help="Figures, e.g. 2,3.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller worlds, fewer seeds.")] = False,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder.")] = Path("berm-figures"),
) -> None:
    """Reproduce a paper's figures: picture, data, claim and verdict, the misses included."""
    from berm.apps import console
    from berm.apps.figures import run_figures

    results = run_figures(paper, out=out, only=_words(only), quick=quick, say=console.say_plain)
    shown = console.table("", "figure", "verdict", "seconds", right=("seconds",))
    for one in results:
        mark = "[green]ok[/]" if one.ok else "[bold red]MISS[/]"
        shown.add_row(mark, one.number, console.escape(one.verdict), f"{one.seconds:.0f}")
    console.out.print()
    console.out.print(shown)
    raise typer.Exit(console.OK if all(one.ok for one in results) else console.CHECK_FAILED)


@app.command()
def compare(
    scene: Annotated[str, typer.Argument(help="Name of a scene, e.g. mass-ratios or cloth-hang.")],
    solvers: Annotated[
        str, typer.Option(help="Solvers, e.g. vts:gs,vts:ij,sp:gs,pbd:ij,p2.")
    ] = "vts:gs,vts:ij,sp:gs",
    iterations: Annotated[str, typer.Option(help="Numbers of iterations.")] = "5,15,30",
    seconds: Annotated[float, typer.Option(min=0.0, help="Simulated time of each run.")] = 2.0,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder.")] = Path("berm-compare"),
) -> None:
    """Run a scene with several solvers: error and time against iterations, as table and plot."""
    from berm.apps import console
    from berm.apps.compare import compare as run_all

    counts = _numbers(iterations, "--iterations")
    points = run_all(scene, _words(solvers) or [], counts, None, seconds, out, console.say_plain)
    shown = console.table("solver", "iterations", "error (m)", "worst (m)", "ms a step")
    for p in points:
        shown.add_row(
            p.solver, str(p.iterations), f"{p.error:.4g}", f"{p.worst:.4g}", f"{p.milliseconds:.2f}"
        )
    console.out.print(shown)


@app.command()
def bench(
    grains: Annotated[str, typer.Option(help="Numbers of grains.")] = "2000,20000,100000",
    threads: Annotated[str | None, typer.Option(help="Numbers of threads (1 and all).")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Repeats; the median counts.")] = 5,
    twin: Annotated[bool, typer.Option(help="Compare with the C++ twin, where it builds.")] = True,
    peers: Annotated[bool, typer.Option("--peers", help="Run LAMMPS and the other peers.")] = False,
    cold: Annotated[bool, typer.Option(help="Time a first start, with an empty cache.")] = True,
    out: Annotated[Path, typer.Option("--out", "-o", help="CSV file.")] = Path("berm-bench.csv"),
) -> None:
    """Measure what a step costs on this machine; print a table and write it as CSV."""
    from berm.apps.bench import bench as measure

    measure(
        _numbers(grains, "--grains"), _numbers(threads or "", "--threads"), repeats, twin, peers,
        cold, out,
    )  # fmt: skip


@app.command(epilog=EXIT_CODES)
def render(
    recording: Recorded,
    out: Annotated[Path, typer.Argument(help="Picture (.png, .jpg, .webp) or video (.mp4, .gif).")],
    time: Annotated[float | None, typer.Option(help="Picture: moment, s (the last).")] = None,
    frame: Annotated[int | None, typer.Option(help="Picture: frame, -1 is the last.")] = None,
    size: Annotated[
        str | None, typer.Option(metavar="WxH", help="Pixels (1280x720, gif 640x360).")
    ] = None,
    fps: Annotated[float | None, typer.Option(help="Video: frames a second (30, gif 20).")] = None,
    start: Annotated[float | None, typer.Option("--from", help="Video: first moment, s.")] = None,
    stop: Annotated[float | None, typer.Option("--to", help="Video: last moment, s.")] = None,
    speed: Annotated[float, typer.Option(help="Video: 2 is twice as fast as real.")] = 1.0,
    colour: Annotated[
        str,
        typer.Option(
            "--colour", "--color", help="material, speed, force, overlap, age, id or merged."
        ),
    ] = "material",
    value_range: Annotated[
        str | None, typer.Option("--range", metavar="LOW,HIGH", help="Ends of the colour scale.")
    ] = None,
    look: Annotated[str, typer.Option(help="dark or light.")] = "dark",
    camera: Annotated[
        str | None,
        typer.Option(
            help="orbit:DEGREES_A_SECOND, view:AZIMUTH,ELEVATION, fixed:EYE,TARGET (six numbers), "
            "follow:BODY, or a file of keyframes; without it all is in view."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title (the scene's name).")] = None,
    caption: Annotated[bool, typer.Option(help="Write time, scale and legend.")] = True,
    hide: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Body or cloth that is not drawn.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Draw a picture or a video of a recording; needs no screen."""
    from berm.apps.render import render as draw

    draw(
        recording, out, size, quiet, time=time, frame=frame, fps=fps, start=start, stop=stop,
        speed=speed, colour=colour, value_range=value_range, look=look, camera=camera, title=title,
        caption=caption, hide=hide or (),
    )  # fmt: skip


@app.command(epilog=EXIT_CODES)
def export(
    recording: Recorded,
    out: Annotated[
        Path,
        typer.Argument(help="ParaView: .vtkhdf; Blender: .usd, .usda, .usdc; tables: .csv, .npz."),
    ],
    start: Annotated[float | None, typer.Option("--from", help="First moment, s.")] = None,
    stop: Annotated[float | None, typer.Option("--to", help="Last moment, s.")] = None,
    every: Annotated[int, typer.Option(metavar="N", help="Each Nth frame only.")] = 1,
    fields: Annotated[
        str | None,
        typer.Option(help="Of velocity, born, overlap, force, bodies, cloths (all recorded)."),
    ] = None,
    usd_grains: Annotated[
        str | None, typer.Option(help="USD: instancer, or points (Blender 4.2; attributes).")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write a recording for ParaView, Blender, a table or NumPy."""
    from berm.apps.export import export as write

    options = {} if usd_grains is None else {"grains": usd_grains}
    write(
        recording, out, quiet, start=start, stop=stop, every=every, fields=_words(fields), **options
    )


@app.command()
def gallery(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Page; its pictures lie beside it.")
    ] = Path("docs/gallery.md"),
    only: Annotated[str | None, typer.Option(help="Scenes, e.g. pile,drum.")] = None,
) -> None:
    """Run every scene at a modest size, draw it, and write a page that shows them all."""
    from berm.apps.gallery import gallery as make

    make(out, _words(only))


@app.command()
def info() -> None:
    """Print versions, threads, kernel cache and machine."""
    from berm.apps.info import show

    show()


@app.command("viewer-assets")
def viewer_assets(
    force: Annotated[bool, typer.Option("--force", help="Install them again.")] = False,
) -> None:
    """Install the JavaScript packages of the viewer's page, where the build could not."""
    from berm.apps import console
    from berm.apps.viewer import assets
    from berm.core.errors import BermError

    try:
        fresh = assets.install(force=force, say=console.say_plain)
    except assets.AssetsError as error:
        raise BermError(str(error)) from None
    console.say_plain(f"{assets.VENDOR}: {'installed' if fresh else 'complete'}")


@app.command("check-file")
def check_file(file: Annotated[Path, typer.Argument(help="A .yaml or .toml scene file.")]) -> None:
    """Check a scene file without running it."""
    from berm.apps.listing import check_file as check

    check(file)


@app.command()
def schema(
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File (printed without one).")
    ] = None,
) -> None:
    """Print or write the JSON schema of scene files, for editors."""
    from berm.apps.listing import schema as show

    show(out)


def _typed() -> str:
    """Return the command as it was typed, to be typed once more with a word behind it."""
    program, *words = sys.argv
    if Path(program).name == "__main__.py":  # python -m berm
        return shlex.join(sys.orig_argv)
    found = shutil.which("berm")
    if found is not None and Path(found).resolve() == Path(program).resolve():
        program = "berm"
    return shlex.join([program, *words])


def _words(text: str | None) -> list[str] | None:
    """Return words with commas between them as a list."""
    return [part.strip() for part in text.split(",") if part.strip()] if text else None


def _numbers(text: str, option: str) -> list[int]:
    from berm.core.errors import InputError

    try:
        return [int(float(part.replace("_", ""))) for part in text.split(",") if part.strip()]
    except ValueError:
        raise InputError(option, text, "whole numbers with commas between them") from None


def main() -> None:
    """Run the command line: errors become one line and an exit code."""
    from berm.apps.console import Exit, reporting

    try:
        with reporting():
            app()
    except Exit as stop:
        sys.exit(stop.code)


if __name__ == "__main__":
    main()
