"""Pictures against what geometry says: outlines, depth, shadows, colours, poses."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import berm
from berm.core.errors import InputError
from berm.render import overlay
from berm.render.camera import Camera, frame_all, with_depth
from berm.render.culling import to_distance, visible
from berm.render.offscreen import SHADOW, Renderer
from berm.render.shading import programs
from berm.render.sun import Sun
from berm.stage import colours
from berm.stage.stage import Moment, Stage, moment_of, stage_of

pytestmark = pytest.mark.usefixtures("graphics")

SIZE = (320, 240)
UP = np.array([0.0, 0.0, 1.0])


def scene(*grains: tuple[list[float], float, str]) -> tuple[Stage, Moment]:
    world = berm.World()
    for place, radius, material in grains:
        world.add_grains([place], radius, material=material)
    return stage_of(world), moment_of(world)


def look(stage: Stage, eye: list[float], target: list[float], fov: float = 40.0) -> Camera:
    return with_depth(Camera(np.array(eye), np.array(target), UP, fov), stage)


def draw(stage: Stage, moment: Moment, camera: Camera, **how: object) -> np.ndarray:
    with Renderer(SIZE, str(how.pop("style", "dark")), bool(how.pop("fine", True))) as renderer:
        return renderer.draw(stage, moment, camera, **how)  # type: ignore[arg-type]


def covered(stage: Stage, moment: Moment, camera: Camera, **how: object) -> np.ndarray:
    """Return where the picture differs from one without grains, (height, width) bool."""
    none = replace(
        moment, position=moment.position[:0], radius=moment.radius[:0], tag=moment.tag[:0],
        material=moment.material[:0], velocity=None, age=None, overlap=None, force=None,
    )  # fmt: skip
    with_them = draw(stage, moment, camera, **how).astype(int)
    return (np.abs(with_them - draw(stage, none, camera, **how)) > 12).any(axis=2)


# ---- outlines --------------------------------------------------------------------------------


@pytest.mark.parametrize("fine", [True, False])
def test_a_ball_straight_ahead_covers_its_disc(fine: bool) -> None:
    stage, moment = scene(([0.0, 0.0, 0.0], 0.5, "gravel"))
    distance, fov = 4.0, 40.0
    seen = covered(stage, moment, look(stage, [0, -distance, 0], [0, 0, 0], fov), fine=fine)
    # the outline of a sphere is that of its tangent cone: sin(angle) = r / d
    angle = math.asin(0.5 / distance)
    radius = 120 * math.tan(angle) / math.tan(math.radians(fov / 2))
    rows, columns = np.nonzero(seen)
    assert columns.min() == pytest.approx(160 - radius, abs=1.0)
    assert columns.max() + 1 == pytest.approx(160 + radius, abs=1.0)
    assert rows.min() == pytest.approx(120 - radius, abs=1.0)
    assert rows.max() + 1 == pytest.approx(120 + radius, abs=1.0)
    assert seen.sum() == pytest.approx(math.pi * radius**2, rel=0.03)


def test_a_ball_aside_is_stretched_as_perspective_demands() -> None:
    place, radius = np.array([1.1, 0.0, 0.5]), 0.3
    stage, moment = scene((place.tolist(), radius, "gravel"))
    camera = look(stage, [0, -3.0, 0], [0, 0, 0], 50.0)
    seen = covered(stage, moment, camera)
    y, x = np.mgrid[0 : SIZE[1], 0 : SIZE[0]]
    angle = camera.pixel_angle(SIZE[1])
    local = np.stack([(x + 0.5 - 160) * angle, (120 - y - 0.5) * angle, -np.ones(x.shape)], 2)
    rays = local @ camera.axes
    rays /= np.linalg.norm(rays, axis=2, keepdims=True)
    along = rays @ (place - camera.eye)
    miss = np.linalg.norm(place - camera.eye - along[..., None] * rays, axis=2)
    inside, outside = miss < radius - 1.2 * angle * 3.4, miss > radius + 1.2 * angle * 3.4
    assert inside.sum() > 500
    assert seen[inside].all()
    assert not seen[outside].any()


def test_a_small_grain_far_away_keeps_its_outline() -> None:
    stage, moment = scene(([0, 1000.0, 0], 1.0, "gravel"), ([0, 0, 0], 0.001, "gravel"))
    camera = Camera(np.array([0, -0.05, 0]), np.zeros(3), UP, 10.0, near=0.01, far=2000.0)
    seen = covered(stage, moment, camera)
    radius = 120 * math.tan(math.asin(0.001 / 0.05)) / math.tan(math.radians(5))
    assert seen.sum() == pytest.approx(math.pi * radius**2, rel=0.05)


def test_nothing_is_drawn_of_a_grain_around_the_eye_or_behind_it() -> None:
    stage, moment = scene(([0, 0, 0], 0.5, "gravel"))
    inside = look(stage, [0, -0.2, 0], [0, 1, 0])
    behind = look(stage, [0, 3.0, 0], [0, 6.0, 0])
    assert not covered(stage, moment, inside).any()
    assert not covered(stage, moment, behind).any()


# ---- depth -----------------------------------------------------------------------------------


def hue(colour: np.ndarray) -> float:
    red, green, blue = colour.astype(float) / 255
    return math.degrees(math.atan2(math.sqrt(3) * (green - blue), 2 * red - green - blue)) % 360


def test_the_nearer_grain_hides_the_farther_whatever_their_order() -> None:
    near, far = ([0.0, -1.0, 0.0], 0.2, "clay"), ([0.0, 0.0, 0.0], 0.4, "glass beads")
    for grains in ((near, far), (far, near)):
        stage, moment = scene(*grains)
        picture = draw(stage, moment, look(stage, [0, -4, 0], [0, 0, 0]))
        assert 0 < hue(picture[115, 160]) < 60  # clay is red
        assert 150 < hue(picture[104 - 18, 160]) < 260  # above it the beads, bluish


def test_spheres_that_overlap_meet_where_geometry_says() -> None:
    # two equal balls side by side: the seam between their colours is half-way
    stage, moment = scene(([-0.3, 0, 0], 0.4, "clay"), ([0.3, 0, 0], 0.4, "glass beads"))
    picture = draw(stage, moment, look(stage, [0, -4, 0], [0, 0, 0]))
    row = [hue(colour) for colour in picture[118, 120:200]]
    clay = np.array([h < 90 or h > 300 for h in row])
    assert clay[:39].all() and not clay[42:].any()


def test_a_body_hides_what_is_behind_it_and_shows_its_pose() -> None:
    world = berm.World()
    turn = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])  # z to x
    world.add_body(berm.Box((0.2, 0.2, 1.2)), name="bar", position=(0.3, -1.0, 0.4), rotation=turn)
    world.add_grains([[0.45, 0.5, 0.6]], 0.1)
    stage, moment = stage_of(world), moment_of(world)
    camera = look(stage, [0, -4, 0], [0, 0, 0])
    bare = draw(stage, moment, camera, hide=("bar",)).astype(int)
    shown = (np.abs(draw(stage, moment, camera).astype(int) - bare) > 10).any(axis=2)
    corners = np.array([[x, y, z] for x in (-0.3, 0.9) for y in (-1.1, -0.9) for z in (0.3, 0.5)])
    pixels, _ = camera.project(corners, SIZE)
    rows, columns = np.nonzero(shown)
    assert [columns.min(), columns.max() + 1] == pytest.approx(
        [pixels[:, 0].min(), pixels[:, 0].max()], abs=1.5
    )
    assert [rows.min(), rows.max() + 1] == pytest.approx(
        [pixels[:, 1].min(), pixels[:, 1].max()], abs=1.5
    )
    assert not covered(stage, moment, camera).any()  # the grain is behind the bar
    assert covered(stage, moment, camera, hide=("bar",)).any()


def test_one_looks_into_a_container_and_through_glass() -> None:
    for smooth in (False, True):
        world = berm.World()
        if smooth:
            pane = berm.material("steel", friction=0.0)
            world.add_body(berm.Box((2, 0.05, 2)), name="b", material=pane, position=(0, -1, 0))
        else:
            world.add_body(berm.Box((2, 2, 2), inside=True), name="b")
        world.add_grains([[0, 0, 0]], 0.3, material="clay")
        stage, moment = stage_of(world), moment_of(world)
        camera = look(stage, [0, -6, 0], [0, 0, 0])
        assert covered(stage, moment, camera).any()


# ---- light -----------------------------------------------------------------------------------


def on_floor() -> tuple[Stage, Moment]:
    world = berm.World()
    world.add_body(berm.Plane(), name="floor")
    world.add_grains([[0, 0, 0.8]], 0.25)
    return stage_of(world), moment_of(world)


def test_the_shadow_falls_where_the_sun_says() -> None:
    stage, moment = on_floor()
    sun = Sun(stage, SHADOW).direction
    foot = moment.position[0] - sun * (0.8 / sun[2])  # centre of the shadow on z = 0
    assert foot[2] == pytest.approx(0.0, abs=1e-6)
    camera = look(stage, [foot[0], foot[1] - 0.01, 5.0], [foot[0], foot[1], 0.0], 30.0)
    lit = draw(stage, replace(moment, radius=np.array([1e-6], np.float32)), camera).astype(int)
    dark = (lit - draw(stage, moment, camera)).sum(axis=2) > 60
    # an ellipse: the ball's radius across, longer by 1 / sin(height of the sun) along
    across = np.cross(sun, UP) / np.linalg.norm(np.cross(sun, UP))
    along = np.cross(UP, across)
    ball, _ = camera.project(moment.position, SIZE)
    for way, reach in ((across, 0.25), (along, 0.25 / sun[2])):
        for side in (-1.0, 1.0):
            inner, outer = (foot + side * s * reach * way for s in (0.85, 1.15))
            pixels, _ = camera.project([inner, outer], SIZE)
            # where the ball itself does not stand in the way of the view
            if np.linalg.norm(pixels - ball, axis=1).min() < 40:
                continue
            (a, b), (c, d) = np.floor(pixels).astype(int)
            assert dark[b, a], (way, side)
            assert not dark[d, c], (way, side)


def test_sunny_side_is_brighter_and_shade_is_not_black() -> None:
    stage, moment = on_floor()
    sun = Sun(stage, SHADOW).direction
    side = np.array([-sun[1], sun[0], 0.0]) / np.linalg.norm(sun[:2])
    camera = look(stage, (moment.position[0] + 4 * side).tolist(), moment.position[0].tolist())
    picture = draw(stage, moment, camera).astype(float).mean(axis=2)
    towards, _ = camera.project([moment.position[0] + 0.15 * sun], SIZE)
    away, _ = camera.project([moment.position[0] - 0.15 * sun], SIZE)
    bright = picture[int(towards[0, 1]), int(towards[0, 0])]
    dim = picture[int(away[0, 1]), int(away[0, 0])]
    assert bright > 1.8 * dim > 20


def test_colour_of_a_known_speed() -> None:
    world = berm.World()
    world.add_grains([[0, 0, 0]], 0.3, velocity=(0, 0, 1.5))
    stage, moment = stage_of(world), moment_of(world)
    sun = Sun(stage, SHADOW).direction
    camera = look(stage, (4 * sun).tolist(), [0, 0, 0])  # from the sun: no shade in the middle
    picture = draw(stage, moment, camera, colour="speed", value_range=(0.0, 2.0))
    shown = colours.decode(picture[120, 160] / 255.0)
    expected = colours.decode(colours.ramps()["tide"][191] / 255.0)
    light = np.array(colours.LOOKS["dark"].sun) + np.array(colours.LOOKS["dark"].sky)
    assert shown == pytest.approx(np.clip(expected * light, 0, 1), abs=0.12)
    for fast, index in ((0.0, 0), (9.0, 255)):  # held to the ends of the scale
        other = replace(moment, velocity=np.array([[0, 0, fast]], np.float32))
        picture = draw(stage, other, camera, colour="speed", value_range=(0.0, 2.0))
        got, end = picture[120, 160], colours.ramps()["tide"][index]
        assert hue(got) == pytest.approx(hue(end), abs=20)


def test_looks_differ() -> None:
    stage, moment = on_floor()
    camera = frame_all(stage)
    dark, light = (draw(stage, moment, camera, style=name) for name in ("dark", "light"))
    assert dark[5].mean() < 80 and light[5].mean() > 180


# ---- the same bits ---------------------------------------------------------------------------


def heap(count: int = 3000) -> tuple[Stage, Moment]:
    world = berm.World()
    world.add_body(berm.Plane(), name="floor")
    rng = np.random.default_rng(4)
    place = rng.uniform(-1, 1, (count, 3)) * [0.5, 0.5, 0.2] + [0, 0, 0.2]
    world.add_grains(place, rng.uniform(0.02, 0.05, count))
    return stage_of(world), moment_of(world)


@pytest.mark.parametrize("eye", [[1.5, -2.0, 1.0], [0.1, -0.1, 3.0], [0.55, 0.0, 0.3]])
def test_leaving_out_hidden_grains_changes_no_pixel(eye: list[float]) -> None:
    stage, moment = heap()
    camera = look(stage, eye, [0.0, 0.0, 0.1], 45.0)
    for fine in (False, True):
        with Renderer(SIZE, fine=fine) as renderer:
            some = renderer.draw(stage, moment, camera)
            every = renderer.draw(stage, moment, camera, cull=False)
        assert (some == every).all()


def test_most_of_a_heap_is_hidden() -> None:
    stage, moment = heap()
    camera = look(stage, [1.5, -2.0, 1.0], [0.0, 0.0, 0.1])
    with Renderer((960, 720)) as renderer:
        renderer.draw(stage, moment, camera)
        width, height = renderer._front.size
        depth = np.frombuffer(renderer._front.read(alignment=1), "f4").reshape(height, width)
    rows = visible(moment.position, moment.radius, camera, to_distance(depth, camera))
    assert 100 < len(rows) < 0.6 * len(moment)


def test_the_same_picture_twice() -> None:
    stage, moment = heap(500)
    camera = frame_all(stage)
    first, second = (draw(stage, moment, camera, fine=False) for _ in range(2))
    assert (first == second).all()


def test_grains_that_were_lost_do_no_harm() -> None:
    stage, moment = scene(([0, 0, 0], 0.3, "gravel"), ([0.5, 0, 0], 0.3, "gravel"))
    camera = look(stage, [0, -4, 0], [0, 0, 0])
    lost = moment.position.copy()
    lost[1] = np.nan
    seen = covered(stage, replace(moment, position=lost), camera)
    assert seen[:, :150].any() and not seen[:, 185:].any()


# ---- programs, sizes, words ------------------------------------------------------------------


@pytest.mark.parametrize("version", ["#version 330", "#version 300 es"])
def test_shaders_compile_for_the_desktop_and_for_the_page(version: str) -> None:
    from berm.render import context

    with context.create() as gl:
        for pair in programs().values():
            gl.program(
                vertex_shader=f"{version}\n{pair['vertex']}",
                fragment_shader=f"{version}\n{pair['fragment']}",
            )


@pytest.mark.parametrize("size", [(8, 100), (100, 9000), "big", (100,)])
def test_sizes_that_cannot_be_drawn(size: object) -> None:
    with pytest.raises(InputError, match="picture's size: got"):
        Renderer(size)  # type: ignore[arg-type]


def test_captions_say_what_is_seen() -> None:
    stage, moment = heap(50)
    camera = frame_all(stage)
    plain = np.zeros((240, 320, 3), np.uint8)
    both = {}
    for colour in ("material", "speed"):
        words = overlay.Caption("a title")
        both[colour] = overlay.write(
            plain, stage, moment, camera, "dark", colour, (0.0, 2.0), words
        )
    for picture in both.values():
        for corner in (np.s_[:40, :120], np.s_[:40, -80:], np.s_[-30:, :120], np.s_[-40:, -120:]):
            assert picture[corner].max() > 150
    strip = both["speed"][-14, -130:-14].astype(int)  # across the colour scale
    table = colours.ramps()["tide"].astype(int)
    near = np.abs(strip[:, None] - table[None]).sum(axis=2).min(axis=1)
    assert (near == 0).sum() > 80


@pytest.mark.parametrize(
    ("length", "text"),
    [(0.0002, "200 µm"), (0.005, "5 mm"), (0.2, "20 cm"), (5, "5 m"), (2e3, "2 km")],
)
def test_lengths_are_written_with_units(length: float, text: str) -> None:
    assert overlay.length_text(length) == text
    assert overlay.bar_length(1.2 * length) == pytest.approx(length)
