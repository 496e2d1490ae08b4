"""Terrain in exports, read by the libraries of those formats."""

from __future__ import annotations

import numpy as np
import pytest

import berm
from berm.core.errors import InputError
from tests.unit.terrain_dig import recorded


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("exports")


def test_paraview_reads_the_ground_of_each_step(out):
    vtk = pytest.importorskip("vtkmodules.vtkIOHDF")
    from vtkmodules.util.numpy_support import vtk_to_numpy

    path, seen = recorded()
    files = berm.export(path, out / "dig.vtkhdf", every=12)
    assert [file.name for file in files] == [
        "dig.vtkhdf", "dig_moving_bodies.vtkhdf", "dig_ground.vtkhdf"
    ]  # fmt: skip  # the body that grains touch is not there
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(files[2]))
    for step in (0, 1, 5):
        reader.SetStep(step)
        reader.Update()
        data = reader.GetOutput()
        points = vtk_to_numpy(data.GetPoints().GetData())
        heights = seen[12 * step][0].ravel() if step else np.zeros(31 * 21)
        np.testing.assert_allclose(points[:, 2], heights, atol=1e-6)
        assert data.GetNumberOfCells() == 2 * 30 * 20
        loose = vtk_to_numpy(data.GetPointData().GetArray("loose"))
        assert loose.shape == (31 * 21,) and (step < 5 or loose.max() > 0.02)


def test_usd_has_the_ground_over_time(out):
    usd = pytest.importorskip("pxr.Usd")
    from pxr import UsdGeom

    path, seen = recorded()
    (file,) = berm.export(path, out / "dig.usdc", every=12)
    stage = usd.Stage.Open(str(file))
    mesh = UsdGeom.Mesh(stage.GetPrimAtPath("/World/ground"))
    codes = mesh.GetPointsAttr().GetTimeSamples()
    assert len(codes) == 6
    points = np.array(mesh.GetPointsAttr().Get(codes[-1]))
    np.testing.assert_allclose(points[:, 2], seen[60][0].ravel(), atol=1e-6)
    assert len(mesh.GetDisplayColorPrimvar().Get(codes[-1])) == 31 * 21
    assert not stage.GetPrimAtPath("/World/bodies/terrain")


def test_height_maps_and_arrays(out):
    path, seen = recorded()
    want = seen[60][0].astype(np.float32)
    berm.export(path, out / "dig.npy")
    np.testing.assert_array_equal(np.load(out / "dig.npy"), want)
    berm.export(path, out / "early.npy", stop=12 / 60)
    np.testing.assert_array_equal(np.load(out / "early.npy"), seen[12][0].astype(np.float32))
    berm.export(path, out / "dig.npz", every=12)
    with np.load(out / "dig.npz") as data:
        np.testing.assert_array_equal(data["ground_heights"][-1], want)
        assert data["ground_x"][0] == -1.5 and len(data["ground_y"]) == 21
        assert len(data["tag"]) == data["row"][-1]
    pytest.importorskip("tifffile")
    berm.export(path, out / "dig.tif")
    ground = berm.Terrain.load(out / "dig.tif")
    np.testing.assert_array_equal(ground.heights.astype(np.float32), want)


def test_a_recording_without_terrain_has_no_height_map(tmp_path):
    world = berm.World()
    world.add_grains([[0, 0, 1]], 0.1)
    world.run(0.05, recorders=[berm.Recorder(tmp_path / "heap.h5")])
    with pytest.raises(InputError, match=r"no ground.*a recording with terrain"):
        berm.export(tmp_path / "heap.h5", tmp_path / "heap.npy")
