"""USD read back by pxr and compared number by number, and by the rules of USD itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import berm
from berm.core.errors import BermError
from berm.exports import usd
from berm.io.recording import Recording
from tests.unit import export_sample

pxr = pytest.importorskip("pxr", reason="needs usd-core: pip install 'berm[export]'")
BLADE = "/World/bodies/blade__1_m_s"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    with export_sample.make(tmp_path_factory.mktemp("usd") / "run.h5") as made:
        yield made


def open_stage(path: Path) -> Any:
    from pxr import Usd

    return Usd.Stage.Open(str(path))


@pytest.fixture(scope="module", params=["at once", "saved on the way"])
def stage(
    recording: Recording, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Any:
    folder = tmp_path_factory.mktemp("stage")
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "saved on the way":
            patch.setattr(usd, "HELD", 50)
        return open_stage(berm.export(recording, folder / "out.usdc")[0])


def code_of(frame: int) -> float:
    """Time code of a frame of the sample: whole, but for the last state between two frames."""
    return 6.5 if frame == 7 else float(frame)


def test_conventions(stage: Any) -> None:
    from pxr import UsdGeom

    assert UsdGeom.GetStageUpAxis(stage) == "Z"
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert stage.GetTimeCodesPerSecond() == stage.GetFramesPerSecond() == 30.0
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0.0, 6.5)
    assert stage.GetDefaultPrim().GetPath() == "/World"


def test_instancer_has_the_same_bits(recording: Recording, stage: Any) -> None:
    from pxr import UsdGeom

    grains = UsdGeom.PointInstancer(stage.GetPrimAtPath("/World/grains"))
    codes = [code_of(k) for k in range(len(recording))]
    assert grains.GetPositionsAttr().GetTimeSamples() == codes
    names = [target.name for target in grains.GetPrototypesRel().GetTargets()]
    assert names == ["rough_wall", "steel", "gravel", "wet_sand"]
    primvars = UsdGeom.PrimvarsAPI(grains)
    for k, frame in enumerate(recording):
        code = codes[k]

        def same(attribute: Any, expected: np.ndarray, code: float = code) -> None:
            found = np.array(attribute.Get(code)).reshape(expected.shape)
            np.testing.assert_array_equal(found, expected)

        same(grains.GetPositionsAttr(), frame.position)
        same(grains.GetVelocitiesAttr(), frame.velocity)
        same(grains.GetIdsAttr(), frame.tag)
        same(grains.GetProtoIndicesAttr(), frame.material)
        same(grains.GetScalesAttr(), np.repeat(frame.radius[:, None], 3, axis=1))
        for name in ("born", "overlap", "force"):
            same(primvars.GetPrimvar(name), getattr(frame, name))
        if len(frame):
            low, high = np.array(grains.GetExtentAttr().Get(code))
            radius = frame.radius[:, None]
            np.testing.assert_allclose(low, (frame.position - radius).min(axis=0))
            np.testing.assert_allclose(high, (frame.position + radius).max(axis=0))


def test_grains_are_balls_of_their_radius(recording: Recording, stage: Any) -> None:
    """What USD itself makes of the instances: place and size of every grain."""
    from pxr import Usd, UsdGeom

    grains = UsdGeom.PointInstancer(stage.GetPrimAtPath("/World/grains"))
    frame = recording[4]
    places = grains.ComputeInstanceTransformsAtTime(Usd.TimeCode(4.0), Usd.TimeCode(4.0))
    matrices = np.array([np.array(matrix) for matrix in places])
    np.testing.assert_allclose(matrices[:, 3, :3], frame.position, atol=1e-6)
    np.testing.assert_allclose(matrices[:, 0, 0], frame.radius, rtol=1e-6)
    for target in grains.GetPrototypesRel().GetTargets():
        mesh = UsdGeom.Mesh(stage.GetPrimAtPath(target))
        vertices = np.array(mesh.GetPointsAttr().Get())
        np.testing.assert_allclose(np.linalg.norm(vertices, axis=1), 1.0, atol=1e-6)


def test_points_have_the_same_bits(recording: Recording, tmp_path: Path) -> None:
    from pxr import UsdGeom

    stage = open_stage(berm.export(recording, tmp_path / "out.usdc", grains="points")[0])
    grains = UsdGeom.Points(stage.GetPrimAtPath("/World/grains"))
    assert grains.GetWidthsInterpolation() == "vertex"
    primvars = UsdGeom.PrimvarsAPI(grains)
    for k, frame in enumerate(recording):
        code = code_of(k)
        for attribute, expected in (
            (grains.GetPointsAttr(), frame.position),
            (grains.GetVelocitiesAttr(), frame.velocity),
            (grains.GetIdsAttr(), frame.tag),
            (grains.GetWidthsAttr(), 2 * frame.radius),
            *((primvars.GetPrimvar(n), getattr(frame, n)) for n in ("material", "force", "born")),
        ):
            found = np.array(attribute.Get(code)).reshape(np.shape(expected))
            np.testing.assert_array_equal(found, expected)
        colours = np.array(grains.GetDisplayColorAttr().Get(code)).reshape(-1, 3)
        assert len(colours) == len(frame)
        assert len(np.unique(colours, axis=0)) == len(np.unique(frame.material))


def test_bodies_are_where_they_were(recording: Recording, stage: Any) -> None:
    from pxr import Usd, UsdGeom

    blade = UsdGeom.Mesh(stage.GetPrimAtPath(BLADE))
    assert blade.GetPrim().GetDisplayName() == "blade, 1 m/s"
    for k, frame in enumerate(recording):
        pose = frame.bodies["blade, 1 m/s"]
        matrix = np.array(blade.ComputeLocalToWorldTransform(Usd.TimeCode(code_of(k))))
        np.testing.assert_allclose(matrix[3, :3], pose.position, atol=1e-12)
        np.testing.assert_allclose(matrix[:3, :3].T, pose.rotation, atol=1e-12)
    # between two frames it turns on, and keeps its size
    between = np.array(blade.ComputeLocalToWorldTransform(Usd.TimeCode(2.5)))[:3, :3]
    np.testing.assert_allclose(between @ between.T, np.eye(3), atol=1e-9)
    floor = UsdGeom.Mesh(stage.GetPrimAtPath("/World/bodies/floor"))
    assert not floor.GetXformOpOrderAttr().ValueMightBeTimeVarying()
    assert all(op.GetNumTimeSamples() == 0 for op in floor.GetOrderedXformOps())
    vertices = np.array(blade.GetPointsAttr().Get())
    assert np.array(blade.GetExtentAttr().Get()).tolist() == [
        vertices.min(axis=0).tolist(), vertices.max(axis=0).tolist(),
    ]  # fmt: skip
    assert len(blade.GetFaceVertexCountsAttr().Get()) == 12
    assert blade.GetSubdivisionSchemeAttr().Get() == "none"


def test_a_body_that_comes_late_is_hidden_before(recording: Recording, stage: Any) -> None:
    from pxr import UsdGeom

    late = UsdGeom.Imageable(stage.GetPrimAtPath("/World/bodies/late"))
    for k, frame in enumerate(recording):
        shown = late.ComputeVisibility(code_of(k)) == "inherited"
        assert shown == ("late" in frame.bodies)


def test_materials_have_their_colours(stage: Any) -> None:
    from pxr import UsdShade

    from berm.stage.colours import decode, material_colour

    for path, name in ((BLADE, "steel"), ("/World/grains/prototypes/wet_sand", "wet sand")):
        prim = stage.GetPrimAtPath(path)
        material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
        shader, _, _ = material.ComputeSurfaceSource()
        colour = np.array(shader.GetInput("diffuseColor").Get())
        np.testing.assert_allclose(colour, decode(np.array(material_colour(name)) / 255), rtol=1e-6)


@pytest.mark.parametrize("suffix", ["usd", "usda", "usdc"])
def test_every_suffix_is_valid_usd(recording: Recording, tmp_path: Path, suffix: str) -> None:
    from pxr import UsdValidation

    (made,) = berm.export(recording, tmp_path / f"out.{suffix}", every=2)
    assert made.read_bytes()[:5] == (b"#usda" if suffix == "usda" else b"PXR-U")
    stage = open_stage(made)
    assert stage.GetTimeCodesPerSecond() == 15.0
    rules = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    assert len(rules) > 5
    problems = UsdValidation.ValidationContext(rules).Validate(stage)
    assert [problem.GetErrorAsString() for problem in problems] == []


def test_without_usd_core(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pxr", None)
    with pytest.raises(BermError, match=r"pip install 'berm\[export\]'"):
        berm.export(recording, tmp_path / "out.usda")
    assert not list(tmp_path.iterdir())
