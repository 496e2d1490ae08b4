"""Cloth on the stage and in pictures: the same from a world and a recording, lit on both sides."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import berm
from berm.core.cloth import Cloth
from berm.core.errors import InputError
from berm.render.between import Clock
from berm.render.camera import Camera, with_depth
from berm.render.offscreen import SHADOW, Renderer
from berm.render.sun import Sun
from berm.stage.meshes import sheet
from berm.stage.stage import Moment, Stage, moment_of, stage_of
from tests.unit import cloth_sample as sample

SIZE = (320, 240)


# ---- stage and moment ------------------------------------------------------------------------


def test_world_and_recording_give_the_same_cloths(tmp_path: Path) -> None:
    recording, truth = sample.record(tmp_path / "run.h5")
    world = sample.make_world()
    sample.add_banner(world)
    sample.wave(world, sample.STEPS)
    with recording:
        there, then = stage_of(recording), moment_of(recording)
        assert len(moment_of(recording, 0).cloths) == 1  # the banner is not there yet
    here, now = stage_of(world), moment_of(world)
    assert [(c.id, c.name) for c in here.cloths] == [(0, sample.FLAG), (1, sample.BANNER)]
    for a, b in zip(here.cloths, there.cloths, strict=True):
        assert (a.name, a.material) == (b.name, b.material)
        assert a.faces.dtype == np.uint32 and (a.faces == b.faces).all()
    for a, b, c in zip(now.cloths, then.cloths, truth[-1], strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)
    assert now.cloths[0] is not world.cloths[0].position  # a copy: the world may go on


def test_another_cloth_makes_another_stage() -> None:
    world = sample.make_world()
    one = stage_of(world).version
    sample.wave(world, 3)  # to move is not to change
    assert stage_of(world).version == one
    sample.add_banner(world)
    assert stage_of(world).version != one


def test_normals_are_smooth_and_belong_to_both_sides() -> None:
    cloth = Cloth.grid((3, 3), (2.0, 2.0))
    cloth.position[4, 2] = 1.0  # the middle
    surface = sheet(cloth.position, cloth.faces)
    assert surface.two_sided
    np.testing.assert_allclose(np.linalg.norm(surface.normals, axis=1), 1.0, atol=1e-6)
    assert surface.normals[4] == pytest.approx([0.0, 0.0, 1.0], abs=1e-6)
    assert surface.normals[1][0] < -0.1 and surface.normals[1][2] > 0.5


def test_between_frames_vertices_move_on_lines(tmp_path: Path) -> None:
    recording, truth = sample.record(tmp_path / "run.h5")
    with recording:
        clock = Clock(recording)
        moment = clock.at(1.25 * sample.DT)
        want = 0.75 * truth[1][0] + 0.25 * truth[2][0]
        np.testing.assert_allclose(moment.cloths[0], want, atol=1e-6)
        late = sample.LATE
        assert len(clock.at((late - 0.75) * sample.DT).cloths) == 1
        assert len(clock.at((late - 0.25) * sample.DT).cloths) == 2


def test_what_is_looked_at_has_room_for_a_cloth_that_hangs() -> None:
    world = berm.World(solver="sp")
    hung = Cloth.grid((5, 5), (2.0, 2.0))
    hung.pin([0, 4])
    world.add_cloth(hung)
    low, high = stage_of(world).bounds
    assert -2.3 < low[2] < -1.95 and high[2] < 0.1
    world.add_body(berm.Plane(), name="floor", position=(0, 0, -0.5))
    assert stage_of(world).bounds[0][2] == pytest.approx(-0.5, abs=0.05)


# ---- pictures --------------------------------------------------------------------------------


def level_cloth(height: float = 1.0) -> berm.World:
    """A metre of cloth over a floor."""
    world = berm.World(solver="sp")
    world.add_body(berm.Plane(), name="floor")
    world.add_cloth(Cloth.grid((9, 9), (1.0, 1.0), (-0.5, -0.5, height), name="cloth"))
    return world


def draw(stage: Stage, moment: Moment, camera: Camera, **how: object) -> np.ndarray:
    with Renderer(SIZE, fine=True) as renderer:
        return renderer.draw(stage, moment, camera, **how).astype(int)  # type: ignore[arg-type]


def look(stage: Stage, eye: list[float], target: list[float]) -> Camera:
    up = np.array([0.0, 1.0, 0.0])
    return with_depth(Camera(np.array(eye), np.array(target), up, 40.0), stage)


def centre(picture: np.ndarray) -> np.ndarray:
    return picture[SIZE[1] // 2 - 8 : SIZE[1] // 2 + 8, SIZE[0] // 2 - 8 : SIZE[0] // 2 + 8]


@pytest.mark.usefixtures("graphics")
def test_cloth_covers_its_outline_from_both_sides() -> None:
    world = level_cloth()
    stage, moment = stage_of(world), moment_of(world)
    for eye in ([0.0, 0.0, 4.0], [0.0, 0.0, 0.02]):  # from above, and from the floor
        camera = look(stage, eye, [0.0, 0.0, 1.0])
        bare = draw(stage, moment, camera, hide=("cloth", "floor"))
        seen = (np.abs(draw(stage, moment, camera, hide=("floor",)) - bare) > 12).any(axis=2)
        pixels, _ = camera.project(world.cloths[0].position, SIZE)
        low, high = np.clip(pixels.min(axis=0), 0, None), np.minimum(pixels.max(axis=0), SIZE)
        assert seen.sum() == pytest.approx(np.prod(high - low), rel=0.03)


@pytest.mark.usefixtures("graphics")
def test_cloth_is_lit_from_above_and_dim_from_below_whatever_its_faces_say() -> None:
    world = level_cloth()
    stage, moment = stage_of(world), moment_of(world)
    turned = replace(stage, cloths=tuple(
        replace(cloth, faces=cloth.faces[:, ::-1].copy()) for cloth in stage.cloths
    ))  # fmt: skip
    above, below = (look(stage, [0, 0, z], [0, 0, 1.0]) for z in (4.0, 0.02))
    for one in (stage, turned):
        sunny = centre(draw(one, moment, above, hide=("floor",))).mean()
        dim = centre(draw(one, moment, below, hide=("floor",))).mean()
        assert sunny > 1.5 * dim > 20


@pytest.mark.usefixtures("graphics")
def test_cloth_casts_a_shadow_on_the_floor() -> None:
    world = level_cloth(height=0.8)
    stage, moment = stage_of(world), moment_of(world)
    sun = Sun(stage, SHADOW).direction
    foot = np.array([0.0, 0.0, 0.8]) - sun * (0.8 / sun[2])  # where the middle's shadow falls
    aside = foot + 4 * (foot - [0, 0, 0])
    for place, dark in ((foot, True), (aside, False)):
        eye = [place[0], place[1], 0.5]  # below the cloth
        camera = look(stage, eye, place.tolist())
        bare = centre(draw(stage, moment, camera, hide=("cloth",))).mean()
        with_it = centre(draw(stage, moment, camera)).mean()
        assert (with_it < 0.8 * bare) == dark


@pytest.mark.usefixtures("graphics")
def test_cloth_hides_grains_and_moves_with_the_moment() -> None:
    world = level_cloth()
    world.add_grains([[0.0, 0.0, 0.5]], 0.2)
    stage, moment = stage_of(world), moment_of(world)
    camera = look(stage, [0, 0, 4.0], [0, 0, 0.5])
    assert (draw(stage, moment, camera) == draw(stage, moment, camera, cull=False)).all()
    covered = centre(draw(stage, moment, camera))
    lowered = replace(moment, cloths=(moment.cloths[0] - np.float32([0.0, 0.0, 0.9]),))
    shown = centre(draw(stage, lowered, camera))
    assert np.abs(covered - shown).max() > 40
    with pytest.raises(InputError, match="unknown body or cloth: got 'sail'; allowed: floor, clo"):
        draw(stage, moment, camera, hide=("sail",))
