"""Pictures and videos as a user gets them: files that other programs open, and clear messages."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import berm
from berm.core.errors import BermError, InputError
from berm.render import context

Image = pytest.importorskip("PIL.Image", reason="pictures need pillow: pip install 'berm[render]'")
ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="videos need imageio-ffmpeg")

BERM = [sys.executable, "-m", "berm"]
SECONDS = 1.0


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty grains that fall on a floor beside a moving blade, ten frames a second."""
    file = tmp_path_factory.mktemp("recording") / "recording.h5"
    world = berm.World(dt=1 / 50)
    world.add_body(berm.Plane(), name="floor", material="rough wall")
    blade = berm.Linear((0.3, 0.0, 0.0))
    world.add_body(berm.Box((0.05, 0.3, 0.3)), name="blade", position=(-0.4, 0, 0.2), motion=blade)
    place = np.random.default_rng(0).uniform((-0.2, -0.2, 0.3), (0.2, 0.2, 0.7), (30, 3))
    world.add_grains(place, 0.03)
    with pytest.warns(UserWarning, match="grains 4 and 29 start 0.53 radii deep in each other"):
        world.run(SECONDS, recorders=[berm.Recorder(file, every=0.1, scene="a small fall")])
    return file


def command(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*BERM, *map(str, words)], capture_output=True, text=True, cwd=cwd, timeout=300, check=False
    )


def frames_of(path: Path) -> tuple[dict[str, Any], np.ndarray]:
    """Return what a video says of itself, and its frames (n, height, width, 3)."""
    reader = ffmpeg.read_frames(str(path))
    about = next(reader)
    width, height = about["size"]
    frames = [np.frombuffer(raw, np.uint8).reshape(height, width, 3) for raw in reader]
    return about, np.array(frames)


# ---- pictures --------------------------------------------------------------------------------


@pytest.mark.usefixtures("graphics")
@pytest.mark.parametrize("suffix", ["png", "jpg", "webp"])
def test_a_picture_from_the_command_line(
    typed: Any, recording: Path, tmp_path: Path, suffix: str
) -> None:
    out = tmp_path / "new" / f"out.{suffix}"
    run = command if suffix == "png" else typed
    done = run("render", recording, out, "--size", "320x200", "--colour", "speed")
    assert done.returncode == 0, done.stderr
    assert str(out) in done.stdout.replace("\n", "")
    with Image.open(out) as image:
        assert image.size == (320, 200)
        assert np.asarray(image).std() > 10


@pytest.mark.usefixtures("graphics")
def test_time_and_frame_choose_the_moment(recording: Path, tmp_path: Path) -> None:
    def drawn(**when: Any) -> np.ndarray:
        path = berm.render(recording, tmp_path / "out.png", size=(160, 90), caption=False, **when)
        return np.asarray(Image.open(path))

    assert (drawn(frame=0) == drawn(time=0.0)).all()
    assert (drawn() == drawn(frame=-1)).all()
    assert (drawn(time=0.3) != drawn(time=0.35)).any()  # between two frames
    assert (drawn(frame=3) == drawn(frame=3)).all()  # the same bits


@pytest.mark.usefixtures("graphics")
def test_a_folder_of_a_run_stands_for_its_recording(recording: Path, tmp_path: Path) -> None:
    done = command("render", recording.parent, tmp_path / "a.png", "--size", "64x64", "-q")
    assert done.returncode == 0 and done.stdout == ""


@pytest.mark.usefixtures("graphics")
def test_a_world_is_drawn_as_it_is(tmp_path: Path) -> None:
    world = berm.World()
    world.add_grains([[0, 0, 0]], 0.5, material="clay")
    path = berm.render(world, tmp_path / "ball.png", size=(120, 80), title="ball")
    red, _, blue = np.asarray(Image.open(path))[40, 60]
    assert red > blue
    with pytest.raises(InputError, match="video of: got 'World'; allowed: a Recording"):
        berm.render(world, tmp_path / "ball.mp4")
    with pytest.raises(InputError, match="time or frame: got 3; allowed: only for a recording"):
        berm.render(world, tmp_path / "ball.png", frame=3)


# ---- videos ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("graphics")
@pytest.mark.parametrize(("fps", "speed"), [(30, 1.0), (24, 0.5), (12.5, 2.0)])
def test_a_video_has_its_frames_size_and_duration(
    recording: Path, tmp_path: Path, fps: float, speed: float
) -> None:
    out = tmp_path / "out.mp4"
    berm.render(recording, out, size=(160, 96), fps=fps, speed=speed)
    about, frames = frames_of(out)
    assert about["codec"] == "h264" and about["pix_fmt"].startswith("yuv420p")
    assert about["size"] == (160, 96)
    assert about["fps"] == pytest.approx(fps)
    count = round(SECONDS / speed * fps)
    assert len(frames) == count
    assert about["duration"] == pytest.approx(count / fps, abs=0.02)


@pytest.mark.usefixtures("graphics")
def test_frames_of_a_video_are_the_moments_that_they_should_be(
    recording: Path, tmp_path: Path
) -> None:
    out = berm.render(recording, tmp_path / "out.mp4", size=(320, 192), fps=20, start=0.2, stop=0.8)
    _, frames = frames_of(out)
    assert len(frames) == 12
    for k in (0, 5, 11):
        still = berm.render(recording, tmp_path / "still.png", size=(320, 192), time=0.2 + k / 20)
        expected = np.asarray(Image.open(still)).astype(int)
        apart = [float(np.abs(frame.astype(int) - expected).mean()) for frame in frames]
        assert int(np.argmin(apart)) == k
        assert apart[k] < 4.0  # of 255: what compression costs


@pytest.mark.usefixtures("graphics")
def test_the_same_video_twice(recording: Path, tmp_path: Path) -> None:
    one, two = (
        berm.render(recording, tmp_path / name, size=(96, 64), fps=10, camera="orbit:90")
        for name in ("a.mp4", "b.mp4")
    )
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.usefixtures("graphics")
def test_odd_sizes_become_even(recording: Path, tmp_path: Path) -> None:
    out = berm.render(recording, tmp_path / "odd.mp4", size=(101, 75), fps=5)
    about, _ = frames_of(out)
    assert about["size"] == (102, 76)


@pytest.mark.usefixtures("graphics")
def test_a_gif_plays_in_real_time(recording: Path, tmp_path: Path) -> None:
    done = command("render", recording, tmp_path / "a.gif", "--size", "120x80", "--fps", "10")
    assert done.returncode == 0, done.stderr
    with Image.open(tmp_path / "a.gif") as gif:
        assert gif.size == (120, 80)
        assert gif.n_frames == 10
        spans = []
        for k in range(gif.n_frames):
            gif.seek(k)
            spans.append(gif.info["duration"])
        assert sum(spans) == pytest.approx(1000, abs=20)  # ms
        assert gif.info["loop"] == 0


@pytest.mark.usefixtures("graphics")
@pytest.mark.parametrize("camera", ["orbit:45", "view:30,60", "fixed:2,-2,1,0,0,0", "follow:blade"])
def test_cameras_from_the_command_line(
    typed: Any, recording: Path, tmp_path: Path, camera: str
) -> None:
    out = tmp_path / "out.mp4"
    done = typed("render", recording, out, "--size", "64x48", "--fps", "4", "--camera", camera)
    assert done.returncode == 0, done.stderr
    assert len(frames_of(out)[1]) == 4


@pytest.mark.usefixtures("graphics")
@pytest.mark.skipif(sys.platform == "win32", reason="signals are different there")
def test_ctrl_c_leaves_a_file_that_plays(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "long.mp4"
    words = ["render", recording, out, "--size", "320x180", "--fps", "60", "--speed", "0.01"]
    process = subprocess.Popen(
        [*BERM, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        process.stderr.readline()  # "drawing long.mp4: 23 of 6000", after two seconds
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "what was drawn until then plays" in said.replace("\n", " ")
    assert 1 <= len(frames_of(out)[1]) < 6000


# ---- messages --------------------------------------------------------------------------------


@pytest.mark.usefixtures("graphics")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["out.bmp"], "file to draw to: got 'out.bmp'; allowed: a name ending in .png"),
        (["out.png", "--size", "12"], "--size: got '12'; allowed: WIDTHxHEIGHT"),
        (["out.png", "--size", "9x9"], "picture's size: got (9, 9)"),
        (["out.png", "--colour", "heat"], "colour: got 'heat'; allowed: material, speed"),
        (["out.png", "--colour", "force"], "(not recorded here)"),
        (["out.png", "--time", "7"], "time: got 7.0; allowed: 0 to 1 s"),
        (["out.png", "--frame", "99"], "frame number: got 99; allowed: -11 to 10"),
        (["out.png", "--time", "0", "--frame", "0"], "time and frame: got (0.0, 0)"),
        (["out.png", "--fps", "30"], "fps: got 30.0; allowed: only for a video"),
        (["out.mp4", "--time", "1"], "time: got 1.0; allowed: only for a picture"),
        (["out.mp4", "--fps", "0"], "frame rate: got 0.0; allowed: 0.1 to 240"),
        (["out.mp4", "--speed", "-1"], "speed: got -1.0; allowed: above 0"),
        (["out.mp4", "--from", "0.8", "--to", "0.2"], "from, to: got (0.8, 0.2)"),
        (["out.mp4", "--speed", "1e-6"], "frames of the video: got 30000000"),
        (["out.png", "--look", "pink"], "look: got 'pink'; allowed: dark, light"),
        (["out.png", "--camera", "follow:x"], "unknown body: got 'x'; allowed: floor, blade"),
        (["out.png", "--hide", "x"], "unknown body or cloth: got 'x'"),
        (["out.png", "--range", "a"], "--range: got 'a'; allowed: LOW,HIGH"),
        (["out.png", "--range", "2,1"], "range of the colours: got (2.0, 1.0)"),
    ],
)
def test_wrong_wishes_are_answered(
    typed: Any, recording: Path, tmp_path: Path, words: list[str], said: str
) -> None:
    done = typed("render", recording, *words, cwd=tmp_path)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert not list(tmp_path.iterdir()), "a file was left behind"


def test_a_missing_package_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "moderngl", None)
    with pytest.raises(context.NoGraphics, match=r"moderngl.*pip install 'berm\[render\]'"):
        context.create()


def test_missing_graphics_are_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    gl = pytest.importorskip("moderngl")

    def fail(**how: object) -> None:
        raise Exception("libEGL.so.1 not loaded")

    monkeypatch.setattr(gl, "create_context", fail)
    with pytest.raises(context.NoGraphics, match="apt install libegl1 libgl1-mesa-dri") as error:
        context.create()
    assert "libEGL.so.1 not loaded" in str(error.value)
    assert not context.available()


def test_a_run_goes_on_without_graphics(tmp_path: Path) -> None:
    lines = (
        "import sys; sys.modules['moderngl'] = None; sys.argv = "
        f"['berm', 'run', 'bounce', '--seconds', '0.2', '-o', {str(tmp_path / 'out')!r}]; "
        "from berm.apps.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", lines], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "not drawn: pictures need moderngl" in done.stdout.replace("\n", " ")
    assert (tmp_path / "out" / "summary.json").exists()
    assert not (tmp_path / "out" / "picture.png").exists()


# ---- after a run, in a notebook, on the gallery's page ---------------------------------------


@pytest.mark.usefixtures("graphics")
def test_a_run_ends_with_a_picture_and_a_clip(tmp_path: Path) -> None:
    done = command("run", "bounce", "--seconds", "0.5", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    with Image.open(tmp_path / "out" / "picture.png") as image:
        assert image.size == (1280, 720)
    about, frames = frames_of(tmp_path / "out" / "clip.mp4")
    assert about["duration"] == pytest.approx(0.5, abs=0.05)
    assert len(frames) == 6
    assert "picture.png" in done.stdout and "clip.mp4" in done.stdout


@pytest.mark.usefixtures("graphics")
def test_worlds_and_recordings_show_themselves(recording: Path) -> None:
    world = berm.World()
    world.add_grains([[0, 0, 0]], 0.5)
    with berm.Recording(recording) as opened:
        for thing in (world, opened):
            with Image.open(io.BytesIO(thing._repr_png_())) as image:
                assert image.format == "PNG" and image.size == (960, 540)
    assert opened._repr_png_() is None  # closed by now
    assert "World(" in repr(world)


def test_without_graphics_the_text_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "moderngl", None)
    assert berm.World()._repr_png_() is None


def test_an_embedded_view_serves_its_page(recording: Path) -> None:
    pytest.importorskip("uvicorn", reason="the viewer needs berm[view]")
    from berm.apps.viewer import assets

    if not assets.complete():
        pytest.skip("the page's packages are not installed")
    world = berm.World()
    world.add_body(berm.Plane(), name="floor")
    world.add_grains([[0, 0, 0.5]], 0.1)
    for thing in (world, recording):
        with berm.show(thing, height=300) as view:
            assert f'src="{view.address}"' in view._repr_html_()
            assert 'height="300"' in view._repr_html_()
            with urllib.request.urlopen(view.address, timeout=20) as answer:
                assert answer.status == 200
                assert b"<html" in answer.read()
    assert world.time == 0.0  # held until someone presses play


@pytest.mark.usefixtures("graphics")
def test_a_clip_stands_in_where_there_is_no_viewer(
    recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from berm.apps.viewer import view

    def missing() -> None:
        raise BermError("the viewer needs berm[view]")

    monkeypatch.setattr(view, "check_installed", missing)
    clip = berm.show(recording)
    assert clip._repr_html_().startswith("<video controls")
    assert "the viewer needs berm[view]" in repr(clip)
    assert clip.video[4:8] == b"ftyp"  # an mp4
    with pytest.raises(BermError, match="the viewer needs"):
        berm.show(berm.World())
    with pytest.raises(InputError, match="what is shown: got 'int'"):
        berm.show(3)


@pytest.mark.usefixtures("graphics")
def test_the_gallery_shows_each_scene_and_keeps_the_others(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "gallery.md"
    for name in ("column", "bounce"):
        done = command("gallery", "-o", page, "--only", name)
        assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert text.index("\n## bounce\n") < text.index("\n## column\n")
    for name in ("bounce", "column"):
        assert f"(pictures/{name}.webp)" in text
        with Image.open(page.parent / "pictures" / f"{name}.webp") as image:
            assert image.size == (960, 540)
    assert text.count("Checked: ") == 2
    wrong = command("gallery", "-o", page, "--only", "moon")
    assert wrong.returncode == 2 and "unknown scene: got 'moon'" in wrong.stderr


@pytest.mark.usefixtures("graphics")
def test_the_page_about_it_runs(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "rendering.md"
    code = page.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "now.png").exists()
    assert len(frames_of(tmp_path / "fall.mp4")[1]) == 30
