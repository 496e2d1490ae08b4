"""`berm gallery`: every scene, run at a modest size, drawn, on one page."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from berm.apps import console
from berm.apps.console import say

if TYPE_CHECKING:
    from berm.scenes.base import SceneRun

FRAMES = 60  # of a recording, at least
SIZE, CLIP_SIZE, CLIP_FPS, CLIP_SECONDS = (960, 540), (480, 270), 12.0, 4.0
MOST_CLIP = 350_000  # bytes: a clip above it is left out of the page


@dataclass(frozen=True)
class Shot:
    """How a scene is shown best; parameters are those of the scene.

    time: share of the run at which the picture is taken.
    """

    parameters: dict[str, Any]
    time: float = 1.0
    colour: str = "material"
    look: str = "dark"
    camera: str | None = None
    clip: bool = False
    hide: tuple[str, ...] = ()


# a scene that is not here is shown with its own defaults
SHOTS = {
    "pile": Shot({"grains": 3000, "rate": 600, "spout": 0.18}, clip=True),
    "push": Shot({}, 0.85, camera="view:-62,28", clip=True),
    "blade": Shot({}, 0.7, camera="view:-62,28"),
    "drum": Shot({}, 0.9, colour="speed", camera="view:-80,8", clip=True),
    "hourglass": Shot({}, 0.5, look="light", camera="view:-90,8"),
    "collapse": Shot({}, 0.34, colour="speed", clip=True),
    "slope": Shot({}, 0.9, colour="speed", look="light", camera="view:-75,12"),
    "bounce": Shot({}, 0.03, look="light"),
    "column": Shot({}, look="light"),
    "wheel": Shot({}, 0.8, camera="view:-90,10"),
    "plank": Shot({}, 0.9, camera="view:-90,14"),
    "sandglass": Shot({}, 0.4, camera="view:-90,8", hide=("gate",)),
    "splash": Shot({}, 0.43, camera="view:-115,18"),
    "rings": Shot({}, camera="view:-60,35"),
    "avalanche": Shot({}, 0.75, camera="view:-60,25", hide=("sides",)),
    "dozer": Shot({}, 0.3, camera="view:-62,20"),
    "loader-soil": Shot({}, 0.65, camera="view:-62,20"),
    "debris": Shot({}, 0.9, camera="view:-62,35"),
    "silo": Shot({}, camera="view:-90,10"),
    "cloth-sphere": Shot({}, camera="view:-70,14", clip=True),
    "cloth-grains": Shot({}, camera="view:-68,24", look="light", clip=True),
    "cloth-hang": Shot({}, 0.44, camera="view:-35,12"),
}


@dataclass(frozen=True)
class Exhibit:
    """A scene as it is shown: files beside the page, and what came out of its checks."""

    name: str
    summary: str
    caption: str
    picture: str
    clip: str | None
    checks: str


def gallery(page: Path, only: list[str] | None = None) -> None:
    """Run the scenes, draw them, and write the page; scenes left out keep what the page says."""
    from berm.scenes.base import SCENES, load_all

    load_all()
    for name in only or ():
        SCENES.get(name)
    folder = page.parent / "pictures"
    parts = _parts_of(page)
    for name in only or SCENES.names():
        say(f"[bold]{name}[/]")
        parts[name] = _text(_show(name, folder), folder.name)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(HEAD + "".join(parts[name] for name in sorted(parts)), encoding="utf-8")
    total = sum(file.stat().st_size for file in folder.iterdir())
    say(f"[bold]{page}[/], {len(parts)} scenes, pictures {console.size(total)}")


HEAD = """# Gallery

Every scene that comes with berm, as `berm gallery` runs and draws it on two cores in a few minutes.
`berm run NAME` runs one with its default parameters, `berm view NAME` shows it while it runs.
"""


def _parts_of(page: Path) -> dict[str, str]:
    """Return the sections of a page that was written before."""
    if not page.exists():
        return {}
    sections = page.read_text(encoding="utf-8").split("\n## ")[1:]
    return {text.split("\n", 1)[0].strip(): "\n## " + text.rstrip() + "\n" for text in sections}


def _show(name: str, folder: Path) -> Exhibit:
    from berm.io.recording import Recorder, Recording
    from berm.render.api import render
    from berm.scenes.base import make_params, run_scene, scene

    shot = SHOTS.get(name, Shot({}))
    one = scene(name)
    params = make_params(one, shot.parameters)
    seconds = one.duration(params)
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "recording.h5"
        recorder = Recorder(file, every=min(1 / 30, seconds / FRAMES), scene=name)
        run = run_scene(one, params, recorders=[recorder], progress=True)
        how: dict[str, Any] = {
            "colour": shot.colour, "look": shot.look, "camera": shot.camera, "hide": shot.hide,
        }  # fmt: skip
        with Recording(file) as recording:
            last = float(recording.times[-1])
            picture = folder / f"{name}.webp"
            render(recording, picture, time=shot.time * last, size=SIZE, **how)
            clip = None
            if shot.clip:
                clip = folder / f"{name}.mp4"
                render(
                    recording, clip, size=CLIP_SIZE, fps=CLIP_FPS,
                    speed=max(1.0, last / CLIP_SECONDS), progress=True, **how,
                )  # fmt: skip
                if clip.stat().st_size > MOST_CLIP:
                    say(f"[yellow]{clip.name}: {console.size(clip.stat().st_size)}, left out[/]")
                    clip.unlink()
                    clip = None
    return Exhibit(
        name, one.summary, _caption(run, shot, last), picture.name, clip.name if clip else None,
        _checks(run),
    )  # fmt: skip


def _caption(run: SceneRun, shot: Shot, last: float) -> str:
    count, cloths = run.world.grains.n, run.world.cloths
    things = [f"{count:,} grain{'s' * (count != 1)}"] if count or not cloths else []
    things += [f"a cloth of {len(cloth.position):,} vertices" for cloth in cloths]
    text = " and ".join(things)
    text = f"{text[0].upper()}{text[1:]} at {shot.time * last:.2f} s of {last:.2f} s"
    if shot.colour != "material":
        text += f", coloured by {shot.colour}"
    if shot.parameters:
        options = " ".join(f"-p {name}={value}" for name, value in shot.parameters.items())
        text += f" (`{options}`)"
    return text


def _checks(run: SceneRun) -> str:
    return "; ".join(
        f"{o.name}: {console.number(o.value)}{' ' + o.unit if o.unit else ''}"
        f"{'' if o.ok else ' (**miss**, expected ' + o.expected + ')'}"
        for o in run.outcomes
    )


def _text(shown: Exhibit, folder: str) -> str:
    lines = [
        f"\n## {shown.name}\n",
        f"{shown.summary[0].upper()}{shown.summary[1:]}.\n",
        f"![{shown.name}: {shown.summary}]({folder}/{shown.picture})\n",
        f"{shown.caption}." + (f" [Clip]({folder}/{shown.clip})" if shown.clip else "") + "\n",
        f"Checked: {shown.checks}.",
    ]
    return "\n".join(lines) + "\n"
