"""VTKHDF read back by VTK, as ParaView reads it: one reader, asked for one time after another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import berm
from berm.io.recording import Recording
from tests.unit import export_sample

# not the whole of vtk, which wants libGL
io_hdf = pytest.importorskip("vtkmodules.vtkIOHDF", reason="needs vtk: pip install 'berm[test]'")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    with export_sample.make(tmp_path_factory.mktemp("vtkhdf") / "run.h5") as made:
        yield made


class Reader:
    """VTK's reader of a file; `at(time)` updates the pipeline as ParaView's animation does."""

    def __init__(self, path: Path) -> None:
        from vtkmodules.vtkCommonCore import vtkCommand
        from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline

        self.reader = io_hdf.vtkHDFReader()
        self.errors: list[str] = []
        self.reader.AddObserver(vtkCommand.ErrorEvent, lambda *_: self.errors.append("error"))
        self.reader.SetFileName(str(path))
        self.reader.UpdateInformation()
        found = self.reader.GetOutputInformation(0).Get(
            vtkStreamingDemandDrivenPipeline.TIME_STEPS()
        )
        self.times = np.array(found or ())

    def at(self, time: float) -> Any:
        self.reader.UpdateTimeStep(time)
        assert not self.errors
        data = self.reader.GetOutputDataObject(0)
        assert data.GetClassName() == "vtkPolyData"
        return data


def array(data: Any, name: str) -> np.ndarray:
    from vtkmodules.util.numpy_support import vtk_to_numpy

    return np.array(vtk_to_numpy(data.GetArray(name)))


def points(data: Any) -> np.ndarray:
    from vtkmodules.util.numpy_support import vtk_to_numpy

    if not data.GetNumberOfPoints():
        return np.zeros((0, 3), np.float32)
    return np.array(vtk_to_numpy(data.GetPoints().GetData()))


def cells(data: Any) -> tuple[np.ndarray, np.ndarray]:
    """Connectivity and offsets of a cell array."""
    from vtkmodules.util.numpy_support import vtk_to_numpy

    return (
        np.array(vtk_to_numpy(data.GetConnectivityArray())),
        np.array(vtk_to_numpy(data.GetOffsetsArray())),
    )


@pytest.mark.parametrize("order", [1, -1, 3])
def test_grains_have_the_same_bits(recording: Recording, tmp_path: Path, order: int) -> None:
    made = berm.export(recording, tmp_path / "out.vtkhdf")
    assert [path.name for path in made] == [
        "out.vtkhdf", "out_fixed_bodies.vtkhdf", "out_moving_bodies.vtkhdf",
    ]  # fmt: skip
    reader = Reader(made[0])
    np.testing.assert_array_equal(reader.times, recording.times)
    count = len(recording)
    for k in [k * order % count for k in range(count)]:
        frame, data = recording[k], reader.at(recording.times[k])
        np.testing.assert_array_equal(points(data), frame.position)
        if not len(frame):
            continue
        connectivity, offsets = cells(data.GetVerts())
        np.testing.assert_array_equal(connectivity, np.arange(len(frame)))
        np.testing.assert_array_equal(offsets, np.arange(len(frame) + 1))
        for name in ("radius", "velocity", "material", "tag", "born", "overlap", "force"):
            values = array(data.GetPointData(), name)
            assert values.dtype == getattr(frame, name).dtype
            np.testing.assert_array_equal(values, getattr(frame, name))


@pytest.mark.parametrize(
    ("file", "names"), [("fixed", ["floor"]), ("moving", ["blade, 1 m/s", "late"])]
)
def test_bodies_are_where_they_were(
    recording: Recording, tmp_path: Path, file: str, names: list[str]
) -> None:
    made = berm.export(recording, tmp_path / "out.vtkhdf")
    reader = Reader(next(path for path in made if file in path.name))
    with np.load(berm.export(recording, tmp_path / "out.npz")[0]) as npz:
        known = list(npz["body_names"])
        shapes = {
            name: (
                npz["body_vertices"][slice(*npz["body_vertex_row"][b : b + 2])].astype(float),
                npz["body_faces"][slice(*npz["body_face_row"][b : b + 2])].astype(int),
            )
            for b, name in enumerate(known)
        }
    for frame in recording:
        data = reader.at(frame.time)
        there = [name for name in names if name in frame.bodies]
        corners, _ = cells(data.GetPolys())
        body = array(data.GetCellData(), "body")
        material = array(data.GetCellData(), "material")
        assert len(corners) == 3 * len(body) == sum(3 * len(shapes[n][1]) for n in there)
        placed = points(data)[corners.reshape(-1, 3)]
        for index, name in enumerate(there):
            number = known.index(name)
            pose, (vertices, faces) = frame.bodies[name], shapes[name]
            expected = (vertices @ pose.rotation.T + pose.position)[faces]
            np.testing.assert_allclose(placed[body == number], expected, atol=1e-6)
            assert set(material[body == number]) == {recording.bodies[number]["material"]}
            for quantity in ("position", "velocity", "angular_velocity", "force", "torque"):
                values = array(data.GetFieldData(), quantity).reshape(-1, 3)
                assert len(values) == len(there)
                np.testing.assert_array_equal(values[index], getattr(pose, quantity))


def test_what_stays_is_written_once(recording: Recording, tmp_path: Path) -> None:
    made = berm.export(recording, tmp_path / "out.vtkhdf")
    with h5py.File(made[1]) as fixed:
        assert fixed["VTKHDF/Points"].shape == (4, 3)
        assert fixed["VTKHDF/Steps"].attrs["NSteps"] == len(recording)
    with h5py.File(made[0]) as grains:
        counts = recording.counts
        assert grains["VTKHDF/Points"].shape == (counts.sum(), 3)
        assert grains["VTKHDF/Vertices/Connectivity"].shape == (np.unique(counts).sum(),)


def test_one_frame_and_some_fields(recording: Recording, tmp_path: Path) -> None:
    made = berm.export(recording, tmp_path / "one.vtkhdf", start=0.2, stop=0.2, fields=["force"])
    assert len(made) == 1
    reader = Reader(made[0])
    assert not len(reader.times)  # for VTK one step is no animation
    whole = reader.at(recording.times[6])
    np.testing.assert_array_equal(points(whole), recording[6].position)
    data = whole.GetPointData()
    names = [data.GetArrayName(k) for k in range(data.GetNumberOfArrays())]
    assert sorted(n for n in names if not n.startswith("__")) == [
        "force", "material", "radius", "tag",
    ]  # fmt: skip
