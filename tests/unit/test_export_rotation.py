"""Orientations of compound grains go through recordings into every format."""

from __future__ import annotations

import csv

import h5py
import numpy as np
import pytest

import berm
from berm.io.recording import Recorder, Recording


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Two tumbling rods and a single grain; the recording and the quaternions at its end."""
    path = tmp_path_factory.mktemp("rotation") / "run.h5"
    world = berm.World(dt=0.01, solver=berm.DEM(normal="linear"))
    world.add_grains([[1, 0, 0]], 0.05)
    world.add_clusters(
        berm.rod(0.02, 3), [[0, 0, 0], [0, 1, 0]], [[1, 0, 0, 0], [0.6, 0.8, 0, 0]], spin=(3, 2, 1)
    )
    fields = ("velocity", "bodies", "rotation")
    world.run(0.05, recorders=[Recorder(path, every=0.01, fields=fields)])
    with Recording(path) as recording:
        yield recording, world.clumps.q.copy()


def wanted(turn):
    """Quaternions of the seven spheres in the order of their tags."""
    return np.concatenate([[[1, 0, 0, 0]], np.repeat(turn, 3, axis=0)])


def test_recording(recorded):
    """Each sphere carries the rotation of its body."""
    recording, turn = recorded
    assert "rotation" in recording.fields
    last = recording.frame(len(recording) - 1)
    assert last.rotation == pytest.approx(wanted(turn), abs=1e-6)
    assert np.abs(last.rotation[1:4] - last.rotation[1]).max() == 0.0


def test_arrays_and_tables(recorded, tmp_path):
    """NPZ and CSV have the four numbers."""
    recording, turn = recorded
    berm.export(recording, tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as file:
        assert file["rotation"][-7:] == pytest.approx(wanted(turn), abs=1e-6)
    berm.export(recording, tmp_path / "out.csv")
    with open(tmp_path / "out.csv", newline="") as file:
        rows = list(csv.DictReader(file))[-7:]
    found = [[float(row[name]) for name in ("qw", "qx", "qy", "qz")] for row in rows]
    assert np.array(found) == pytest.approx(wanted(turn), abs=1e-6)


def test_vtkhdf(recorded, tmp_path):
    """ParaView sees a point array of four."""
    recording, turn = recorded
    berm.export(recording, tmp_path / "out.vtkhdf")
    with h5py.File(tmp_path / "out.vtkhdf") as file:
        assert file["VTKHDF/PointData/rotation"][-7:] == pytest.approx(wanted(turn), abs=1e-6)


def test_usd(recorded, tmp_path):
    """The instancer's orientations are those of the bodies."""
    pytest.importorskip("pxr")
    from pxr import Usd, UsdGeom

    recording, turn = recorded
    berm.export(recording, tmp_path / "out.usda")
    stage = Usd.Stage.Open(str(tmp_path / "out.usda"))
    instancer = UsdGeom.PointInstancer(stage.GetPrimAtPath("/World/grains"))
    given = instancer.GetOrientationsAttr()
    quaternions = given.Get(given.GetTimeSamples()[-1])
    found = [[q.GetReal(), *q.GetImaginary()] for q in quaternions]
    assert np.array(found, float) == pytest.approx(wanted(turn), abs=2e-3)  # half precision
