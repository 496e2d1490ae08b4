"""Cloth in every export format, read back number by number."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import berm
from berm.io.recording import Recording
from berm.stage.meshes import vertex_normals
from tests.unit import cloth_sample as sample

NAMES = [sample.FLAG, sample.BANNER]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    made, _ = sample.record(tmp_path_factory.mktemp("cloth") / "run.h5")
    with made:
        yield made


def material_of(recording: Recording, cloth: dict[str, Any]) -> str:
    return str(recording.materials[cloth["material"]]["name"])


def test_csv(recording: Recording, tmp_path: Path) -> None:
    made = berm.export(recording, tmp_path / "out.csv")
    assert [path.name for path in made] == ["out.csv", "out_bodies.csv", "out_cloths.csv"]
    with made[-1].open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for k, frame in enumerate(recording):
        for cloth in recording.cloths:
            mine = [r for r in rows if (r["frame"], r["cloth"]) == (str(k), cloth["name"])]
            want = frame.cloths.get(cloth["name"], np.zeros((0, 3), np.float32))
            assert [row["vertex"] for row in mine] == [str(v) for v in range(len(want))]
            found = [[row[f"{a} (m)"] for a in "xyz"] for row in mine]
            np.testing.assert_array_equal(np.array(found, np.float32).reshape(-1, 3), want)
            assert {row["material"] for row in mine} <= {material_of(recording, cloth)}
            assert {float(row["time (s)"]) for row in mine} <= {frame.time}


def test_npz(recording: Recording, tmp_path: Path) -> None:
    (made,) = berm.export(recording, tmp_path / "out.npz")
    with np.load(made) as data:
        assert data["cloth_names"].tolist() == NAMES
        assert data["cloth_vertex_row"].tolist() == [0, 24, 28]
        assert data["cloth_face_row"].tolist() == [0, 30, 32]
        for c, cloth in enumerate(recording.cloths):
            vertices = slice(*data["cloth_vertex_row"][c : c + 2])
            faces = data["cloth_faces"][slice(*data["cloth_face_row"][c : c + 2])]
            np.testing.assert_array_equal(faces, recording.cloth_faces(cloth["name"]))
            assert data["cloth_material"][c] == cloth["material"]
            for k, frame in enumerate(recording):
                found = data["cloth_position"][k, vertices]
                if cloth["name"] in frame.cloths:
                    np.testing.assert_array_equal(found, frame.cloths[cloth["name"]])
                else:
                    assert np.isnan(found).all()


@pytest.mark.parametrize("order", [1, -1, 3])
def test_vtkhdf(recording: Recording, tmp_path: Path, order: int) -> None:
    pytest.importorskip("vtkmodules.vtkIOHDF", reason="needs vtk: pip install 'berm[test]'")
    from tests.unit.test_export_vtkhdf import Reader, array, cells, points

    made = berm.export(recording, tmp_path / "out.vtkhdf")
    assert made[-1].name == "out_cloths.vtkhdf"
    reader = Reader(made[-1])
    np.testing.assert_array_equal(reader.times, recording.times)
    count = len(recording)
    for k in [k * order % count for k in range(count)]:
        frame, data = recording[k], reader.at(recording.times[k])
        there = [cloth for cloth in recording.cloths if cloth["name"] in frame.cloths]
        np.testing.assert_array_equal(points(data), np.concatenate(list(frame.cloths.values())))
        corners, _ = cells(data.GetPolys())
        faces = [recording.cloth_faces(cloth["name"]) for cloth in there]
        starts = np.cumsum([0, *(len(vertices) for vertices in frame.cloths.values())])
        want = [own + start for own, start in zip(faces, starts, strict=False)]
        np.testing.assert_array_equal(corners.reshape(-1, 3), np.concatenate(want))
        for name, of_each in (("cloth", "id"), ("material", "material")):
            each = np.repeat([cloth[of_each] for cloth in there], [len(own) for own in faces])
            np.testing.assert_array_equal(array(data.GetCellData(), name), each)
    with h5py.File(made[-1]) as file:
        assert file["berm"].attrs["cloths"] == '["flag", "banner, 2"]'


@pytest.mark.parametrize("suffix", ["usdc", "usda"])
def test_usd(recording: Recording, tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("pxr", reason="needs usd-core: pip install 'berm[export]'")
    from pxr import Usd, UsdGeom, UsdShade

    (made,) = berm.export(recording, tmp_path / f"out.{suffix}")
    stage = Usd.Stage.Open(str(made))
    for cloth, path in zip(recording.cloths, ("flag", "banner__2"), strict=True):
        mesh = UsdGeom.Mesh(stage.GetPrimAtPath(f"/World/cloths/{path}"))
        faces = recording.cloth_faces(cloth["name"])
        assert mesh.GetPrim().GetDisplayName() == cloth["name"]
        assert set(mesh.GetFaceVertexCountsAttr().Get()) == {3}
        np.testing.assert_array_equal(mesh.GetFaceVertexIndicesAttr().Get(), faces.ravel())
        assert mesh.GetDoubleSidedAttr().Get() is True
        bound = UsdShade.MaterialBindingAPI(mesh.GetPrim()).ComputeBoundMaterial()[0]
        assert bound.GetPrim().GetDisplayName() == material_of(recording, cloth)
        samples = []
        for k, frame in enumerate(recording):
            want = frame.cloths.get(cloth["name"])
            seen = mesh.ComputeVisibility(float(k))
            assert seen == ("invisible" if want is None else "inherited")
            if want is None:
                continue
            samples.append(float(k))
            np.testing.assert_array_equal(np.array(mesh.GetPointsAttr().Get(k)), want)
            normals = np.array(mesh.GetNormalsAttr().Get(k))
            np.testing.assert_array_equal(normals, vertex_normals(want, faces))
            extent = np.array(mesh.GetExtentAttr().Get(k))
            np.testing.assert_array_equal(extent, [want.min(axis=0), want.max(axis=0)])
        assert mesh.GetPointsAttr().GetTimeSamples() == samples


def test_cloth_is_chosen_like_a_field(recording: Recording, tmp_path: Path) -> None:
    without = berm.export(recording, tmp_path / "a.vtkhdf", fields=["velocity"])
    assert [path.name for path in without] == ["a.vtkhdf"]
    alone = berm.export(recording, tmp_path / "b.csv", fields=["cloths"])
    assert [path.name for path in alone] == ["b.csv", "b_cloths.csv"]
    early = berm.export(recording, tmp_path / "c.npz", stop=1.5 * sample.DT)
    with np.load(early[0]) as data:
        assert data["cloth_names"].tolist() == [sample.FLAG]
        assert data["cloth_position"].shape == (2, 24, 3)
