"""`berm run`: build, step, record, stop without losing anything, and go on bit for bit."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from berm.apps import console, job
from berm.apps.console import duration, say
from berm.apps.job import Job, Request
from berm.apps.stopping import stoppable
from berm.core.errors import InputError, SimulationError, StorageError
from berm.io.lock import Lock

if TYPE_CHECKING:
    from berm.apps.viewer.audience import Audience
    from berm.core.report import StepReport
    from berm.scenes.parts.history import History
    from berm.world.world import World

SAVE_EVERY = 60.0  # s of wall time between checkpoints while running
LONG = 1.0  # s: after a step as long, the state is held, so that the next may be interrupted
SIZE, A_GRAIN = 1.2, 4000  # room kept for a checkpoint: over the last state, and bytes a new grain


class Stopped(Exception):
    """The user asked to stop; raised between two steps."""


def run(request: Request) -> int:
    """Do what `berm run` does; return the exit code."""
    folder = request.folder()
    lock = Lock(folder / job.RECORDING, say=lambda text: say(f"[yellow]{console.escape(text)}[/]"))
    try:
        if folder.is_dir():
            lock.acquire()  # before anything is said about what lies there
        one = _job(request, folder)
        set_threads(request.threads)
        return Run(one, request, folder, lock).go()
    finally:
        lock.release()


def _job(request: Request, folder: Path) -> Job:
    """Return what to run; a run that lies in the folder is replaced only where that was asked."""
    from berm.io import checkpoint

    saved = folder / job.CHECKPOINT
    if request.resume:
        if not saved.exists():
            raise InputError(
                "--resume", str(saved), "a folder with the checkpoint of a run: use -o"
            )
        return job.resumed_job(request, checkpoint.about(saved))
    if saved.exists() and not request.overwrite:
        _refuse(request, folder, saved)
    return job.make_job(request)


def _refuse(request: Request, folder: Path, saved: Path) -> None:
    """Say what lies in the folder, and what to type to look at it, replace it or go on."""
    from berm.io import checkpoint

    again = request.command or f"berm run {request.target} -o {folder}"
    when, ways = "", {"replace it": f"{again} --overwrite"}
    try:
        about = checkpoint.about(saved)
    except InputError as error:
        kind, when = "a run that cannot be read", f" ({error})"
    else:
        done = float(about.get("time", 0.0))
        finished = bool(about.get("finished", False))
        kind, when = "a finished run" if finished else "an unfinished run", f", t = {done:.2f} s"
        longer = f" --seconds {2 * done:g}" if finished else ""
        ways |= {"look at it": f"berm view {folder}", "go on with it": f"{again} --resume{longer}"}
    ways["keep it"] = f"{again} -o ANOTHER_FOLDER"
    lines = [f"  to {what + ':':15}{how}" for what, how in ways.items()]
    raise InputError("\n".join([f"{folder} holds {kind}{when}", *lines]))


class Run:
    """One run: its world, history and recorder, and what happens at the end."""

    def __init__(self, one: Job, request: Request, folder: Path, lock: Lock) -> None:
        from berm.io import checkpoint
        from berm.io.recording import Recorder
        from berm.scenes.parts.history import History

        self.job, self.request, self.folder, self.lock = one, request, folder, lock
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
            lock=lock,
        )
        self.steps = round(one.seconds / self.world.dt)
        self.wall = 0.0
        self._saved = self._stepped = time.monotonic()
        self._size = (0, 0)  # bytes of the last state, and its grains
        self._held: tuple[dict[str, Any], dict[str, Any]] | None = None  # last whole state, about

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
            self._say_stopped(self.world.time)
            return console.INTERRUPTED
        except KeyboardInterrupt:
            return self._stopped_in_a_step()
        except StorageError as error:
            return self._without_room(error)
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
            busy = self.audience.busy(warmup.ABOUT) if self.audience else contextlib.nullcontext()
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
            self._hold(time.monotonic() - self._stepped)
            self._keep_room()
            if time.monotonic() - self._saved > SAVE_EVERY:
                self._save(finished=False)
            self._stepped = time.monotonic()

        if left:
            self._hold(LONG)  # nobody knows how long the first step takes
            self._keep_room()
        self._stepped = time.monotonic()
        try:
            world.run(left * world.dt, [self.history, self.recorder], progress=watch)
        finally:
            if bar is not None:
                bar.close()

    def _state(self, finished: bool) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return all that a checkpoint holds, and what it notes."""
        from berm.io import checkpoint

        about = self.job.about | {"finished": finished, "time": self.world.time}
        retuned = self.audience.changes if self.audience is not None else self._retuned
        if retuned is not None:
            about["retuned"] = retuned
        state = {"world": self.world.state(), "history": self.history.state()}
        self._size = int(SIZE * checkpoint.size(state)), self.world.grains.n
        return state, about

    def _keep_room(self) -> None:
        """Let the recorder leave room for a checkpoint, which grows with the grains."""
        size, grains = self._size
        self.recorder.spare = size + A_GRAIN * max(self.world.grains.n - grains, 0)

    def _hold(self, seconds: float) -> None:
        """Hold the state after a step that took long: the next one may be interrupted."""
        self._held = self._state(finished=False) if seconds >= LONG else None

    def _save(self, finished: bool) -> None:
        self._write(*self._state(finished))

    def _write(self, state: dict[str, Any], about: dict[str, Any]) -> None:
        from berm.io import checkpoint

        path = self.folder / job.CHECKPOINT
        checkpoint.save_state(state, path, about)
        self._saved = time.monotonic()

    def _stopped_in_a_step(self) -> int:
        """End in the midst of a step; the state of before it is kept, where it is known."""
        if self._held is not None:
            self._write(*self._held)
        self._say_stopped(self._checkpoint_time(), "in the midst of a step")
        return console.INTERRUPTED

    def _without_room(self, error: StorageError) -> int:
        """End because something could not be written; the state is kept, if there is room."""
        with contextlib.suppress(StorageError):  # the one of before stays
            self._save(finished=False)
        if self.audience is not None:
            self.audience.live.fail(error)
        console.say_error(str(error))
        when = self._checkpoint_time()
        about = (
            "there is no checkpoint" if when is None else f"the checkpoint is of t = {when:.3f} s"
        )
        console.err.print(
            f"what came before is whole: {self.recorder.path} ({self.recorder.frames} frames), "
            + about,
            soft_wrap=True,
        )
        if when is not None:
            console.err.print(f"with more room, go on with: {self._go_on()}", soft_wrap=True)
        return console.SIMULATION_FAILED

    def _checkpoint_time(self) -> float | None:
        """Return the time (s) of the checkpoint in the folder, None where there is none."""
        from berm.io import checkpoint

        path = self.folder / job.CHECKPOINT
        return float(checkpoint.about(path)["time"]) if path.exists() else None

    def _go_on(self) -> str:
        return f"berm run {self.request.target} --resume -o {self.folder}"

    def _make_folder(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.lock.acquire()
            if not self.request.resume:
                for name in job.RESULTS:  # pictures of a run before are none of this one
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

    def _say_stopped(self, when: float | None, where: str = "") -> None:
        """Say where it stopped, and how to go on from the checkpoint of time `when` (s)."""
        at = f"{where} after" if where else "at"
        say(
            f"[yellow]stopped[/] {at} t = {self.world.time:.3f} s of "
            f"{self.steps * self.world.dt:g} s; recording and checkpoint are whole: "
            f"[bold]{self.folder}[/]"
            if when is not None
            else f"[yellow]stopped[/] {at} t = {self.world.time:.3f} s; the recording is whole, "
            f"there is no checkpoint yet: [bold]{self.folder}[/]"
        )
        if when is not None:
            since = f" (from t = {when:.3f} s)" if where else ""
            say(f"go on with: [bold]{self._go_on()}[/]{since}")

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
