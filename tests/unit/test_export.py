"""Exports: CSV and NPZ number by number, what is chosen, wrong input, and files that are whole."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import berm
from berm.core.errors import InputError
from berm.exports.base import FORMATS
from berm.exports.poses import quaternions
from berm.exports.selection import Selection, select
from berm.io.recording import Recorder, Recording
from tests.unit import export_sample


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    with export_sample.make(tmp_path_factory.mktemp("export") / "run.h5") as made:
        yield made


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def column(rows: list[dict[str, str]], *names: str) -> np.ndarray:
    return np.array([[float(row[name]) for name in names] for row in rows])


def test_the_sample_is_hard_enough(recording: Recording) -> None:
    assert recording.counts.tolist() == [0, 40, 40, 40, 30, 30, 30, 30]
    assert set(recording[1].tag) != set(recording[2].tag)
    assert list(recording[0].bodies) != list(recording[-1].bodies)
    assert recording.times[-1] - recording.times[-2] < 0.6 * export_sample.EVERY


# ---------------------------------------------------------------------- CSV


def test_csv_has_the_same_bits(recording: Recording, tmp_path: Path) -> None:
    made = berm.export(recording, tmp_path / "out.csv")
    assert made == [tmp_path / "out.csv", tmp_path / "out_bodies.csv"]
    rows = rows_of(made[0])
    assert len(rows) == recording.counts.sum()
    for k, frame in enumerate(recording):
        mine = [row for row in rows if row["frame"] == str(k)]
        if not len(frame):
            assert not mine
            continue
        assert all(float(row["time (s)"]) == frame.time for row in mine)
        names = [recording.materials[m]["name"] for m in frame.material]
        assert [row["material"] for row in mine] == names
        assert [int(row["tag"]) for row in mine] == frame.tag.tolist()
        for columns, expected in (
            (("x (m)", "y (m)", "z (m)"), frame.position),
            (("vx (m/s)", "vy (m/s)", "vz (m/s)"), frame.velocity),
            (("radius (m)",), frame.radius[:, None]),
            (("born (s)",), frame.born[:, None]),
            (("overlap (m)",), frame.overlap[:, None]),
            (("force (N)",), frame.force[:, None]),
        ):
            np.testing.assert_array_equal(column(mine, *columns).astype(np.float32), expected)


def test_csv_of_bodies(recording: Recording, tmp_path: Path) -> None:
    rows = rows_of(berm.export(recording, tmp_path / "out.csv")[1])
    found = {(int(row["frame"]), row["body"]): row for row in rows}
    expected = {(k, name) for k in range(len(recording)) for name in recording[k].bodies}
    assert found.keys() == expected
    for (k, name), row in found.items():
        pose = recording[k].bodies[name]
        number = next(body["material"] for body in recording.bodies if body["name"] == name)
        assert row["material"] == recording.materials[number]["name"]
        for letter, unit, value in (
            ("", "m", pose.position),
            ("v", "m/s", pose.velocity),
            ("w", "rad/s", pose.angular_velocity),
            ("f", "N", pose.force),
            ("t", "N m", pose.torque),
        ):
            columns = [f"{letter}{axis} ({unit})" for axis in "xyz"]
            np.testing.assert_array_equal(column([row], *columns)[0], value)
        turn = column([row], "qx", "qy", "qz", "qw")[0]
        np.testing.assert_allclose(Rotation.from_quat(turn).as_matrix(), pose.rotation, atol=1e-12)


# ---------------------------------------------------------------------- NPZ


def test_npz_has_the_same_bits(recording: Recording, tmp_path: Path) -> None:
    (made,) = berm.export(recording, tmp_path / "out.npz")
    with np.load(made, allow_pickle=False) as data:
        np.testing.assert_array_equal(data["time"], recording.times)
        np.testing.assert_array_equal(data["frame"], np.arange(len(recording)))
        assert list(data["material_names"]) == [m["name"] for m in recording.materials]
        assert json.loads(str(data["units"]))["velocity"] == "m/s"
        row = data["row"]
        for k, frame in enumerate(recording):
            assert data["step"][k] == frame.step
            for name in ("position", "velocity", "radius", "tag", "material", "born", "overlap",
                         "force"):  # fmt: skip
                values = data[name]
                assert values.dtype == getattr(frame, name).dtype
                np.testing.assert_array_equal(values[row[k] : row[k + 1]], getattr(frame, name))
            for b, name in enumerate(data["body_names"]):
                for quantity in ("position", "rotation", "velocity", "angular_velocity", "force",
                                 "torque"):  # fmt: skip
                    found = data[f"body_{quantity}"][k, b]
                    if name in frame.bodies:
                        expected = getattr(frame.bodies[str(name)], quantity)
                        np.testing.assert_array_equal(found, expected)
                    else:
                        assert np.isnan(found).all()


def test_npz_of_shapes(recording: Recording, tmp_path: Path) -> None:
    """The box has its corners where they belong, and every triangle faces outwards."""
    (made,) = berm.export(recording, tmp_path / "out.npz")
    with np.load(made) as data:
        b = list(data["body_names"]).index("blade, 1 m/s")
        vertices = data["body_vertices"][slice(*data["body_vertex_row"][b : b + 2])]
        faces = data["body_faces"][slice(*data["body_face_row"][b : b + 2])]
    np.testing.assert_array_equal(np.unique(vertices[:, 0]), np.float32([-0.2, 0.2]))
    corners = vertices[faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert ((normal * corners.mean(axis=1)).sum(axis=1) > 0).all()
    area = 0.5 * np.linalg.norm(normal, axis=1).sum()
    assert area == pytest.approx(2 * (0.4 * 0.1 + 0.1 * 0.2 + 0.2 * 0.4), rel=1e-5)


# ---------------------------------------------------------------------- what is chosen


def times_of(chosen: Selection) -> list[float]:
    return [frame.time for frame in chosen]


def test_frames_and_fields(recording: Recording, tmp_path: Path) -> None:
    times = recording.times
    assert times_of(select(recording)) == times.tolist()
    assert times_of(select(recording, 0.1, 1 / 6)) == times[3:6].tolist()
    assert times_of(select(recording, every=3)) == times[::3].tolist()
    assert times_of(select(recording, start=0.1, every=2)) == times[3::2].tolist()
    assert select(recording).rate == pytest.approx(30.0)
    assert select(recording, every=2, stop=0.2).rate == pytest.approx(15.0)
    made = berm.export(recording, tmp_path / "few.csv", start=0.15, fields=["force"])
    assert [path.name for path in made] == ["few.csv"]
    rows = rows_of(made[0])
    assert {row["frame"] for row in rows} == {"5", "6", "7"}
    assert list(rows[0])[-2:] == ["z (m)", "force (N)"]
    with_bodies = berm.export(recording, tmp_path / "b.csv", fields=["bodies", "radius"])
    assert len(with_bodies) == 2
    assert list(rows_of(with_bodies[0])[0])[-1] == "z (m)"


def test_an_endless_plane_ends_near_what_is_seen(recording: Recording) -> None:
    bodies = {body.name: body for body in select(recording).bodies}
    assert {name: body.fixed for name, body in bodies.items()} == {
        "floor": True, "blade, 1 m/s": False, "late": False,
    }  # fmt: skip
    floor = bodies["floor"].surface.vertices
    reach = np.abs(np.concatenate([frame.position for frame in recording])[:, :2]).max()
    assert reach < np.abs(floor[:, :2]).min() < 10 * reach
    assert not floor[:, 2].any()


def test_quaternions_take_the_short_way() -> None:
    angles = np.linspace(0.0, 15.0, 60)
    turns = quaternions(Rotation.from_euler("y", angles[:, None]).as_matrix())
    np.testing.assert_allclose(np.linalg.norm(turns, axis=1), 1.0)
    assert ((turns[1:] * turns[:-1]).sum(axis=1) > 0).all()
    # an odd number of sign changes, then an even one
    np.testing.assert_allclose(turns[:, 0], np.cos(0.5 * angles), atol=1e-12)


def test_progress_goes_to_the_end(recording: Recording, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    for suffix in ("csv", "npz"):
        seen.clear()
        berm.export(recording, tmp_path / f"o.{suffix}", progress=lambda *a: seen.append(a))
        assert [done for done, _ in seen] == list(range(1, seen[-1][1] + 1))
    berm.export(recording, tmp_path / "o.csv", progress=True)


# ---------------------------------------------------------------------- what is wrong


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "out.xyz",
            {},
            r"'out.xyz'; allowed: \*.csv, \*.npy, \*.npz, \*.tif, \*.tiff, \*.usd, \*.usda, "
            r"\*.usdc, \*.vtkhdf",
        ),
        ("out", {}, "'out'; allowed"),
        ("out.csv", {"fields": ["colour"]}, r"'colour'; allowed: velocity, born, overlap"),
        ("out.csv", {"every": 0}, "every.*0"),
        ("out.csv", {"every": 1.5}, "every.*1.5"),
        ("out.csv", {"start": 3.0}, r"\(3.0, None\); allowed: times from 0 to 0.21"),
        ("out.csv", {"start": 0.1, "stop": 0.05}, "times from 0"),
        ("out.csv", {"start": float("nan")}, "times from 0"),
        ("out.csv", {"grains": "points"}, r"option of .csv: got 'grains'; allowed: none"),
        ("out.usda", {"grains": "cubes"}, "'cubes'; allowed: instancer, points"),
        ("out.usda", {"rate": 3}, r"option of .usda: got 'rate'; allowed: grains"),
    ],
)
def test_wrong_input(
    recording: Recording, tmp_path: Path, name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        berm.export(recording, tmp_path / name, **options)
    assert not list(tmp_path.iterdir())


def test_fields_that_were_not_recorded(tmp_path: Path) -> None:
    with export_sample.make(tmp_path / "run.h5", fields=("velocity",)) as plain:
        for name in ("force", "bodies"):
            with pytest.raises(InputError, match=rf"not recorded: got '{name}'.*velocity, born"):
                berm.export(plain, tmp_path / "out.csv", fields=[name])
        (made,) = berm.export(plain, tmp_path / "out.csv")  # without, all that there is
        assert list(rows_of(made)[0])[-1] == "born (s)"
        with np.load(berm.export(plain, tmp_path / "out.npz")[0]) as data:
            assert "force" not in data and "body_names" not in data


def test_recordings_that_cannot_be_exported(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with pytest.raises(InputError, match="no such recording"):
        berm.export(path, tmp_path / "out.csv")
    with export_sample.make(path) as made:
        made.times = made.times[:0]
        with pytest.raises(InputError, match=r"frames of the recording: got 0.*run\.h5"):
            berm.export(made, tmp_path / "out.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="a file name, not a folder"):
        berm.export(path, tmp_path / "folder.csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        berm.export(path, tmp_path / "file" / "out.csv")


def test_without_a_grain(tmp_path: Path) -> None:
    """A world that is still empty goes out as well, in every format."""
    world = berm.World()
    with Recorder(tmp_path / "run.h5") as recorder:
        recorder.start(world)
    for suffix in set(FORMATS) - {"npy", "tif", "tiff"}:  # those are of a terrain
        made = berm.export(tmp_path / "run.h5", tmp_path / f"out.{suffix}")
        assert [path.name for path in made] == [f"out.{suffix}"]


@pytest.mark.parametrize("suffix", ["csv", "npz", "vtkhdf", "usda", "usdc"])
def test_an_interrupted_export_leaves_nothing(
    recording: Recording, tmp_path: Path, suffix: str
) -> None:
    out = tmp_path / f"out.{suffix}"
    out.write_text("the export of yesterday")

    def stop(done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        berm.export(recording, out, progress=stop)
    assert [path.name for path in tmp_path.iterdir()] == [out.name]
    assert out.read_text() == "the export of yesterday"
    made = berm.export(recording, out)
    assert sorted(tmp_path.iterdir()) == sorted(made)
    assert out.stat().st_size > 1000
