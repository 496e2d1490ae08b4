"""From what was typed to a job: which world to build, for how long, and how to check it."""

from __future__ import annotations

import difflib
import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from berm.core.errors import InputError
from berm.io.layout import USUAL_FIELDS, check_fields
from berm.solvers.options import check_names, declared

if TYPE_CHECKING:
    from berm.core.report import StepReport
    from berm.scenes.base import Outcome
    from berm.scenes.parts.history import History
    from berm.scenes.parts.setup import Setup
    from berm.solvers.choice import Choice
    from berm.world.world import World

SUFFIXES = (".yaml", ".yml", ".toml")
RECORDING, CHECKPOINT, SUMMARY = "recording.h5", "checkpoint.npz", "summary.json"
SIDE_VIEW, RUN_PLOT = "side_view.png", "run.png"
PICTURE, CLIP = "picture.png", "clip.mp4"
RESULTS = (CHECKPOINT, SUMMARY, SIDE_VIEW, RUN_PLOT, PICTURE, CLIP)  # beside the recording
FRACTION = re.compile(r"\s*([-+.\deE]+)\s*/\s*([-+.\deE]+)\s*")


@dataclass
class Request:
    """What the user typed after `berm run`."""

    target: str
    parameters: dict[str, Any] = field(default_factory=dict)
    solver: str | None = None
    solver_options: dict[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    out: Path | None = None
    record_every: float | None = None
    record_fields: list[str] | None = None
    threads: int | None = None
    seed: int | None = None
    resume: bool = False
    overwrite: bool = False
    quiet: bool = False
    pictures: bool = True
    view: bool = False
    host: str | None = None
    port: int | None = None
    open_browser: bool = True
    command: str = ""  # all of it, to be shown

    def is_file(self) -> bool:
        """Whether the target is a scene file rather than the name of a scene."""
        return self.target.lower().endswith(SUFFIXES)

    def folder(self) -> Path:
        """Return where the results go."""
        name = Path(self.target).stem if self.is_file() else self.target
        return self.out or Path("berm-out") / name

    def changes(self) -> dict[str, Any]:
        """Return what differs from the scene's defaults."""
        given = {
            "parameters": self.parameters,
            "solver": self.solver,
            "solver_options": self.solver_options,
            "seed": self.seed,
            "record_fields": self.record_fields,
        }
        return {key: value for key, value in given.items() if value not in (None, {})}


@dataclass
class Job:
    """A world to build, how long it runs, and how its outcome is checked."""

    name: str
    seconds: float
    full: float  # s that the check needs
    record_every: float
    record_fields: tuple[str, ...]
    parameters: dict[str, Any]
    build: Callable[[], World]
    check: Callable[[World, History], list[Outcome]]
    observe: Callable[[World, StepReport], Mapping[str, float]] | None
    params: Any  # what History hands to the check
    about: dict[str, Any]  # what a checkpoint notes, and --resume reads
    setup: Setup | None = None  # of the registered scene, where the job is one


def pairs(texts: Sequence[str], option: str) -> dict[str, Any]:
    """Return name=value texts as a map."""
    found: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise InputError(option, text, "name=value, for example grains=500")
        found[name.strip().replace("-", "_")] = read_value(value.strip())
    return found


def read_value(text: str) -> Any:
    """Return a typed value: none, a list, a map, a fraction, a number, or the text itself."""
    if text.lower() in ("", "none", "null"):
        return None
    if text[0] in "[{":
        from berm.io.positions import read_yaml

        try:
            return read_yaml(text, "").data
        except InputError as error:
            allowed = "a list such as [1, 2], or a map such as {law: hertz, alpha: 0.25}"
            raise InputError("value", text, allowed) from error
    fraction = FRACTION.fullmatch(text)
    try:
        if fraction:
            return float(fraction[1]) / float(fraction[2])
        number = float(text)
        return int(text) if re.fullmatch(r"[-+]?\d+", text) else number
    except (ValueError, ZeroDivisionError):
        return {"true": True, "false": False}.get(text.lower(), text)


def make_job(request: Request) -> Job:
    """Return the job of a new run."""
    job = _file_job(request) if request.is_file() else _scene_job(request)
    if request.record_every is not None:
        job.record_every = request.record_every
    if request.record_fields is not None:
        job.record_fields = check_fields(request.record_fields, "--record-fields")
    _check_times(job)
    job.about |= {
        "target": str(Path(request.target).resolve()) if request.is_file() else request.target,
        "changes": request.changes(),
        "seconds": job.seconds,
        "record_every": job.record_every,
    }
    return job


def resumed_job(request: Request, about: Mapping[str, Any]) -> Job:
    """Return the job that a checkpoint belongs to; what was typed must not contradict it."""
    target = str(Path(request.target).resolve()) if request.is_file() else request.target
    if target != about.get("target"):
        raise InputError(
            "--resume", request.target, f"{about.get('target')}, which this run was started with"
        )
    stored = dict(about.get("changes", {}))
    for name, value in request.changes().items():
        if stored.get(name) != value:
            raise InputError(
                f"--resume with other {name.replace('_', ' ')}", value,
                f"{stored.get(name, 'none')}, as at the start (leave the option out)",
            )  # fmt: skip
    again = Request(target=request.target, out=request.out, resume=True)
    for name, value in stored.items():
        setattr(again, name, value)
    given = (request.seconds, request.record_every)
    seconds, every = float(about["seconds"]), float(about["record_every"])
    again.seconds, again.record_every = (
        new if new is not None else old for new, old in zip(given, (seconds, every), strict=True)
    )
    job = make_job(again)
    if job.about.get("sha256") != about.get("sha256"):
        raise InputError("--resume: the scene file has changed", request.target, "the same file")
    if job.about.get("parameters") != about.get("parameters"):
        raise InputError(
            "--resume: the scene's parameters have other defaults now", job.name,
            f"the version of berm that began the run ({about.get('berm')})",
        )  # fmt: skip
    return job


def _check_times(job: Job) -> None:
    if not (math.isfinite(job.seconds) and 0 < job.seconds <= 1e7):
        raise InputError("--seconds", job.seconds, "above 0, at most 1e7")
    if not (math.isfinite(job.record_every) and job.record_every >= 0):
        raise InputError("--record-every", job.record_every, "0 (every step) or more seconds")


def _scene_job(request: Request) -> Job:
    from berm.scenes.base import scene

    return _named_job(request, scene(request.target), {}, None, None)


def _named_job(
    request: Request, one: Any, base: Mapping[str, Any], solver: Choice | None,
    seconds: float | None,
) -> Job:  # fmt: skip
    """Return the job of a registered scene; what was typed goes before `base` and `solver`."""
    from berm.scenes.base import make_params
    from berm.scenes.parts.setup import Setup
    from berm.solvers.choice import Choice

    chosen = _choice(request, solver or Choice(one.solver))
    given = dict(request.parameters)
    if request.seed is not None:
        if given.get("seed", request.seed) != request.seed:
            raise InputError("--seed and -p seed", [request.seed, given["seed"]], "one of the two")
        given["seed"] = request.seed
    _check_names(one, chosen, given)
    params = make_params(one, {**base, **given})
    setup = Setup(one, params, chosen)
    setup.in_effect()  # raises what material and solver do not take
    full = float(one.duration(params))
    wanted = seconds if request.seconds is None else request.seconds
    return Job(
        name=one.name,
        seconds=full if wanted is None else float(wanted),
        full=full,
        record_every=1 / 30,
        record_fields=USUAL_FIELDS,
        parameters=params.model_dump(),
        build=setup.build,
        check=one.check,
        observe=one.observe,
        params=params,
        about={"scene": one.name, **setup.dump()},
        setup=setup,
    )


def _choice(request: Request, own: Choice) -> Choice:
    """Return the solver that was typed, or the scene's or file's own, with the options typed."""
    from berm.solvers.choice import Choice

    chosen = own if request.solver is None else Choice(request.solver)
    check_names(chosen.kind, request.solver_options, "--solver-option")
    return chosen.changed(**request.solver_options)


def _check_names(one: Any, chosen: Choice, given: Mapping[str, Any]) -> None:
    known = list(one.Params.model_fields)
    for name in given:
        if name in known:
            continue
        near = difflib.get_close_matches(name, known, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        if name == "solver":
            hint = f" (the solver is chosen with --solver {given[name]})"
        elif name in declared(chosen.kind):
            hint = f" (it is an option of the solver: --solver-option {name}={given[name]})"
        raise InputError(f"scene {one.name}: unknown parameter", name, ", ".join(known) + hint)


def _file_job(request: Request) -> Job:
    from berm.io.scenefile import load_scene

    loaded = load_scene(request.target)
    digest = hashlib.sha256(loaded.path.read_bytes()).hexdigest()
    if loaded.scene is not None:
        given = loaded.params.model_dump(exclude_unset=True)
        usual = loaded.seconds == loaded.scene.duration(loaded.params)
        seconds = None if usual else loaded.seconds
        job = _named_job(request, loaded.scene, given, loaded.solver, seconds)
        job.record_every, job.record_fields = loaded.record_every, loaded.record_fields
        job.about["sha256"] = digest
        return job
    for option, value in (("-p", request.parameters), ("--seed", request.seed)):
        if value not in (None, {}):
            raise InputError(
                f"{option} with a file that holds a world", value, f"write it in {request.target}"
            )
    chosen = _choice(request, loaded.solver)
    return Job(
        name=loaded.name,
        seconds=float(loaded.seconds if request.seconds is None else request.seconds),
        full=0.0,
        record_every=loaded.record_every,
        record_fields=loaded.record_fields,
        parameters=loaded.parameters,
        build=lambda: loaded.build(chosen),
        check=loaded.check,
        observe=None,
        params=None,
        about={"scene": loaded.name, "sha256": digest},
    )
