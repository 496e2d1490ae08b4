"""`berm run`: build, step, record, stop without losing anything, and go on bit for bit."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from berm.apps import console, job
from berm.apps.console import duration, say
from berm.apps.job import Job, Request
from berm.apps.stopping import stoppable
from berm.core.errors import InputError, SimulationError

if TYPE_CHECKING:
    from berm.apps.viewer.audience import Audience
    from berm.core.report import StepReport
    from berm.scenes.parts.history import History
    from berm.world.world import World

SAVE_EVERY = 60.0  # s of wall time between checkpoints while running


class Stopped(Exception):
    """The user asked to stop; raised between two steps."""


def run(request: Request) -> int:
    """Do what `berm run` does; return the exit code."""
    from berm.io import checkpoint

    folder = request.folder()
    saved = folder / job.CHECKPOINT
    about = checkpoint.about(saved) if saved.exists() else None
    if request.resume:
        if about is None:
            raise InputError(
                "--resume", str(saved), "a folder with the checkpoint of a run: use -o"
            )
        one = job.resumed_job(request, about)
    else:
        if about is not None and not about.get("finished", False) and not request.overwrite:
            raise InputError(
                "unfinished run", f"{folder} at t = {about.get('time', 0.0):.2f} s",
                "--resume to go on with it, --overwrite to start anew, or -o another folder",
            )  # fmt: skip
        one = job.make_job(request)
    set_threads(request.threads)
    return Run(one, request, folder).go()


class Run:
    """One run: its world, history and recorder, and what happens at the end."""

    def __init__(self, one: Job, request: Request, folder: Path) -> None:
        from berm.io import checkpoint
        from berm.io.recording import Recorder
        from berm.scenes.parts.history import History

        self.job, self.request, self.folder = one, request, folder
        self.world: World = one.build()
        self.history: History = History(one.observe, one.params)
        self.audience: Audience | None = None
        self._retuned: dict[str, Any] | None = None  # parameters that viewers have changed
        if request.resume:
            state = checkpoint.load(folder / job.CHECKPOINT)
            self._retune(checkpoint.about(folder / job.CHECKPOINT).get("retuned"))
            self.world.restore(state["world"])
            self.world.inputs.release()  # nobody holds the keys any more
            self.history.restore(state["history"])
        self.recorder = Recorder(
            folder / job.RECORDING,
            every=one.record_every,
            fields=one.record_fields,
            scene=one.name,
            parameters=one.parameters,
            append=request.resume,
        )
        self.steps = round(one.seconds / self.world.dt)
        self.wall = 0.0
        self._saved = time.monotonic()

    def go(self) -> int:
        """Run to the end, or to Ctrl-C or an error; with --view the page stays while it is seen."""
        if self.request.view:
            self._open_page()
        try:
            code = self._go()
            if self.audience is not None and code != console.INTERRUPTED:
                with stoppable() as stop:
                    self.audience.stay(stop)
            return code
        finally:
            if self.audience is not None:
                self.audience.close()

    def _open_page(self) -> None:
        from berm.apps.viewer.audience import Audience

        self.audience = Audience(self.job, self.world, self.request, self.recorder.note, self.steps)
        if self._retuned is not None:
            assert self.job.setup is not None
            self.audience.live.setup = self.job.setup.load(self._retuned)

    def _retune(self, values: dict[str, Any] | None) -> None:
        """Put back the parameters that viewers had changed when the checkpoint was written."""
        self._retuned = values
        if values is not None:
            assert self.job.setup is not None
            self.job.setup.retune(self.world, self.job.setup.load(values))

    def _go(self) -> int:
        world, quiet = self.world, self.request.quiet
        left = max(self.steps - world.step_count, 0)
        if not quiet:
            self._say_start()
        self._make_folder()
        if left:
            self._warm_up()
        begin = time.perf_counter()
        try:
            with stoppable() as stop:
                self._advance(left, stop)
        except Stopped:
            self._save(finished=False)
            self._say_stopped()
            return console.INTERRUPTED
        except SimulationError as error:
            if self.audience is not None:
                self.audience.live.fail(error)
            console.say_error(str(error))
            console.err.print(
                f"what came before is whole: {self.recorder.path} ({self.recorder.frames} frames)",
                soft_wrap=True,
            )
            return console.SIMULATION_FAILED
        self.wall = time.perf_counter() - begin
        self._save(finished=True)
        from berm.apps.finish import finish

        return finish(self, left)

    def _warm_up(self) -> None:
        from berm.apps import warmup

        if warmup.needed(self.world):
            busy = self.audience.busy(warmup.ABOUT) if self.audience else nullcontext()
            with busy:
                self._compile()

    def _compile(self) -> None:
        from berm.apps import warmup

        if self.request.quiet:
            warmup.warm_up(self.world)
            return
        say(f"[yellow]{warmup.ABOUT}[/]")
        with console.out.status("compiling ..."):
            taken = warmup.warm_up(self.world)
        say(f"compiled in {duration(taken)}")
        self._saved = time.monotonic()

    def _advance(self, left: int, stop: Callable[[], bool]) -> None:
        world = self.world
        bar: Any = None
        if not self.request.quiet and left:
            from berm.world.progress import Bar

            bar = Bar(self.steps * world.dt)

        def watch(world: World, report: StepReport) -> None:
            if bar is not None:
                bar(world, report)
            if self.audience is not None:
                self.audience.after_step(report, stop)
            if stop():
                raise Stopped("stopped by the user")
            if time.monotonic() - self._saved > SAVE_EVERY:
                self._save(finished=False)

        try:
            world.run(left * world.dt, [self.history, self.recorder], progress=watch)
        finally:
            if bar is not None:
                bar.close()

    def _save(self, finished: bool) -> None:
        from berm.io import checkpoint

        about = self.job.about | {"finished": finished, "time": self.world.time}
        retuned = self.audience.changes if self.audience is not None else self._retuned
        if retuned is not None:
            about["retuned"] = retuned
        state = {"world": self.world.state(), "history": self.history.state()}
        checkpoint.save_state(state, self.folder / job.CHECKPOINT, about)
        self._saved = time.monotonic()

    def _make_folder(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not self.request.resume:
                for name in (job.CHECKPOINT, job.SUMMARY):
                    (self.folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise InputError(
                "-o", str(self.folder), "a folder that can be written", str(error)
            ) from error

    def _say_start(self) -> None:
        from berm.kernels import jit

        world = self.world
        say(
            f"[bold]{self.job.name}[/]: {self.steps * world.dt:g} s, step {world.dt * 1e3:.3g} ms, "
            f"solver {world.solver.name}, {jit.get_threads()} "
            f"thread{'s' * (jit.get_threads() > 1)}"
        )
        if self.request.resume:
            say(f"going on at t = {world.time:.3f} s with {world.grains.n:,} grains")

    def _say_stopped(self) -> None:
        target = self.request.target
        say(
            f"[yellow]stopped[/] at t = {self.world.time:.3f} s of "
            f"{self.steps * self.world.dt:g} s; recording and checkpoint are whole: "
            f"[bold]{self.folder}[/]"
        )
        say(f"go on with: [bold]berm run {target} --resume -o {self.folder}[/]")

    def time_taken(self) -> str:
        """Return the wall time as text."""
        return duration(self.wall)


def set_threads(count: int | None) -> None:
    """Set the number of threads that was asked for, if any."""
    if count is None:
        return
    from berm.kernels import jit

    if not 1 <= count <= jit.max_threads():
        raise InputError("--threads", count, f"1 to {jit.max_threads()}")
    jit.set_threads(count)
