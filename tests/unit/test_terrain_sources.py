"""Where ground comes from: files of every kind, noise, other cells, holes; and what is refused."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

import berm
from berm.core.errors import InputError
from berm.world.terrain import height_maps, sources

Terrain = berm.Terrain


def slope(nx=21, ny=13, cell=0.5):
    """A tilted plane with a ripple, heights (nx, ny)."""
    i, j = np.mgrid[0:nx, 0:ny]
    return 0.1 * i - 0.03 * j + 0.2 * np.sin(0.5 * i), cell


def test_array_and_npy_are_the_same_ground(tmp_path):
    heights, cell = slope()
    np.save(tmp_path / "ground.npy", heights)
    read = Terrain.load(tmp_path / "ground.npy", pixel=cell)
    given = Terrain(heights, cell, (-5.0, -3.0))  # its middle at the origin
    np.testing.assert_array_equal(read.heights, given.heights)
    np.testing.assert_allclose(read.heights, heights, atol=1e-12)
    assert read.cell == cell and read.origin == given.origin
    read.save(tmp_path / "again.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "again.npy"), read.heights)


def test_a_grey_image_has_north_on_top(tmp_path):
    image = pytest.importorskip("PIL.Image")
    rows = np.zeros((5, 8), np.uint8)
    rows[0, 7] = 255  # north east
    image.fromarray(rows).save(tmp_path / "hill.png")
    ground = Terrain.load(tmp_path / "hill.png", cell=0.5, low=1.0, high=3.0)
    assert ground.heights.shape == (8, 5)
    assert ground.heights[7, 4] == 3.0 and ground.heights.sum() == 39 * 1.0 + 3.0
    deep = (np.arange(40, dtype=np.uint16) * 1638).reshape(5, 8)
    image.fromarray(deep).save(tmp_path / "deep.png")
    read = height_maps.read(tmp_path / "deep.png", 0.0, 65535.0)
    np.testing.assert_array_equal(read.heights, deep[::-1].T)


def test_geotiff_keeps_heights_scale_and_place(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    heights, cell = slope()
    height_maps.write(tmp_path / "g.tif", heights, cell, (100.0, 200.0))
    read = height_maps.read(tmp_path / "g.tif")
    np.testing.assert_array_equal(read.heights, heights.astype(np.float32))
    assert read.cell == cell and read.origin == (100.0, 200.0)
    # read by the library alone, not by us: row 0 is north, the tie point is its western pixel
    with tifffile.TiffFile(tmp_path / "g.tif") as tiff:
        page = tiff.pages[0]
        geo = page.geotiff_tags
        assert geo["ModelPixelScale"][:2] == [cell, cell]
        assert geo["ModelTiepoint"][3:5] == [100.0, 200.0 + 12 * cell]
        assert int(geo["GTRasterTypeGeoKey"]) == 2
        np.testing.assert_array_equal(page.asarray()[0], heights[:, -1].astype(np.float32))


def test_geotiff_of_others_areas_and_no_data(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    rows = np.arange(20, dtype=np.int16).reshape(4, 5)
    rows[1, 2] = -9999
    tags = [(33550, "d", 3, (2.0, 2.0, 0.0), True),
            (33922, "d", 6, (0.0, 0.0, 0.0, 1000.0, 508.0, 0.0), True),
            (42113, "s", 0, "-9999", True)]  # fmt: skip
    file = tmp_path / "dem.tif"
    tifffile.imwrite(file, rows, extratags=tags, metadata=None)
    read = height_maps.read(file)
    # pixels are areas unless a key says otherwise: the middle of the first is 1 m from the corner
    assert read.cell == 2.0 and read.origin == (1001.0, 501.0)
    assert np.isnan(read.heights[2, 2]) and np.isnan(read.heights).sum() == 1
    with pytest.raises(InputError, match=r"1 of 20 cells have no height.*\[2, 2\].*holes='fill'"):
        Terrain.load(file)
    filled = Terrain.load(file, holes="fill").heights
    assert filled[2, 2] == pytest.approx(np.mean([13.0, 8.0, 3.0]), abs=6.0)
    known = ~np.isnan(read.heights)
    np.testing.assert_array_equal(filled[known], read.heights[known])
    with pytest.raises(InputError, match=r"pixel.*the file says 2 m"):
        Terrain.load(file, pixel=1.0)
    wide = [(33550, "d", 3, (2.0, 3.0, 0.0), True)]
    tifffile.imwrite(tmp_path / "wide.tif", rows, extratags=wide, metadata=None)
    with pytest.raises(InputError, match="square pixels"):
        Terrain.load(tmp_path / "wide.tif")


def test_resampling_keeps_planes_and_volumes():
    i, j = np.mgrid[0:41, 0:31]
    plane = 0.3 * i - 0.2 * j
    fine = sources.resample(plane, 0.5, 0.2)
    x, y = np.mgrid[0 : fine.shape[0], 0 : fine.shape[1]] * 0.2
    np.testing.assert_allclose(fine, 0.6 * x - 0.4 * y, atol=1e-12)
    coarse = sources.resample(plane, 0.5, 2.0)
    assert coarse.shape == (11, 8)
    np.testing.assert_allclose(coarse[1:-1, 1:-1], plane[4:-4:4, 4:-4:4][:, :6], atol=1e-12)
    spike = np.zeros((41, 41))
    spike[10, 18] = 1.0  # between the coarse nodes: its volume stays
    found = sources.resample(spike, 0.5, 2.0)
    assert found.sum() * 2.0**2 == pytest.approx(0.5**2, rel=1e-12)


def test_noise_is_the_same_everywhere_and_as_high_as_asked():
    ground = Terrain.noise((400, 400), cell=1.0, seed=3, height=2.0, wave=20.0, depth=30.0)
    assert abs(ground.heights.std() - 2.0) < 0.15 and abs(ground.heights.mean()) < 0.3
    again = Terrain.noise((400, 400), cell=1.0, seed=3, height=2.0, wave=20.0, depth=30.0)
    np.testing.assert_array_equal(ground.heights, again.heights)
    other = Terrain.noise((400, 400), cell=1.0, seed=4, height=2.0, wave=20.0, depth=30.0)
    assert abs(np.corrcoef(ground.heights.ravel(), other.heights.ravel())[0, 1]) < 0.1
    few = sources.noise(np.arange(8.0) * 1.7, -np.arange(8.0) * 0.9, 7, 1.0, 4.0)
    digest = hashlib.sha256(few.astype("<f8").tobytes()).hexdigest()
    assert digest[:16] == "6454619e73e9da8a"
    # nowhere rough: neighbours differ by what a slope of the smallest wave allows
    assert np.abs(np.diff(ground.heights, axis=0)).max() < 2.0


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda d: Terrain([[0, np.nan], [0, 0]], 0.1), r"heights\[0, 1\].*finite heights"),
        (lambda d: Terrain(np.zeros((0, 4)), 0.1), r"\(nx, ny\), each >= 2"),
        (lambda d: Terrain(np.zeros((9, 9)), 0.1, grain=0.06), "at least two grain radii, 0.12 m"),
        (lambda d: Terrain.flat((5, 5), cell=0.0), "cell.*above 0"),
        (lambda d: Terrain.flat((1e4, 1e4), cell=0.1), "100001 x 100001 columns.*at most"),
        (lambda d: Terrain.flat((0.01, 5), cell=0.1), "1 x 51 columns"),
        (lambda d: Terrain.of(lambda x, y: np.zeros(3), (1, 1)), r"returns.*numbers \(11, 11\)"),
        (lambda d: Terrain.noise((5, 5), wave=0.0), "wave.*above 0"),
        (lambda d: Terrain.noise((5, 5), octaves=0), "octaves"),
        (lambda d: Terrain.load(d / "none.npy", cell=1.0), "a file that is there"),
        (lambda d: Terrain.load(d / "no.txt", cell=1.0), r"ending in \.npy, \.tif"),
        (lambda d: Terrain.load(d / "bad.npy", cell=1.0), r"a readable \.npy file"),
        (lambda d: Terrain.load(d / "cube.npy", cell=1.0), r"\(2, 2, 2\).*numbers \(nx, ny\)"),
        (lambda d: Terrain.load(d / "ok.npy"), "cell or pixel.*the file does not say"),
        (lambda d: Terrain.load(d / "ok.npy", cell=9.0, pixel=1.0), "larger than the field"),
        (lambda d: Terrain.load(d / "ok.npy", cell=1.0, holes="x"), "holes.*error, fill"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(tmp_path, make, said):
    (tmp_path / "bad.npy").write_bytes(b"no numbers")
    np.save(tmp_path / "cube.npy", np.zeros((2, 2, 2)))
    np.save(tmp_path / "ok.npy", np.zeros((5, 5)))
    with pytest.raises(InputError, match=said):
        make(tmp_path)


def test_a_step_of_ten_metres_stands_until_it_is_disturbed():
    heights = np.zeros((20, 12))
    heights[10:] = 10.0
    world = berm.World()
    ground = world.add_terrain(Terrain(heights, 0.5, depth=12.0, layers="dry sand"))
    for _ in range(6):
        world.step()
    np.testing.assert_array_equal(ground.heights, heights)
    ground.columns.disturb((9, 12, 0, 12))
    for _ in range(600):
        world.step()
    assert ground.heights[10].mean() < 9.0 and np.isfinite(ground.heights).all()
    assert np.abs(ground.ledger(world).error).max() == 0.0
