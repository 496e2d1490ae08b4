"""Colours: the maps are even, the numbers round, and the page gets the same as the renderer."""

from __future__ import annotations

import json

import numpy as np
import pytest

from berm.core.errors import InputError
from berm.core.materials import MATERIALS
from berm.stage import colours
from berm.stage.stage import Moment


def oklab(srgb: np.ndarray) -> np.ndarray:
    """Oklab of sRGB, the way back of what colours.py does."""
    cones = np.linalg.inv(colours._CONES_TO_RGB)
    lab = np.linalg.inv(colours._LAB_TO_CONES)
    return np.cbrt(colours.decode(srgb) @ cones.T) @ lab.T


def moment(n: int = 3, **fields: object) -> Moment:
    return Moment(
        0.0, 0, np.zeros((n, 3), np.float32), np.ones(n, np.float32), np.zeros(n, np.int32),
        np.arange(n), **fields,
    )  # type: ignore[arg-type]  # fmt: skip


def test_oklab_of_known_colours() -> None:
    # from Ottosson's definition: white is L = 1, and sRGB's red is (0.628, 0.225, 0.126)
    assert colours.to_linear(np.array([1.0, 0.0, 0.0])) == pytest.approx([1, 1, 1], abs=1e-6)
    red = colours.to_linear(np.array([0.62795536, 0.22486306, 0.1258463]))
    assert red == pytest.approx([1, 0, 0], abs=1e-6)


def test_encoding_and_decoding_undo_each_other() -> None:
    light = np.linspace(0, 1, 1001)
    assert colours.decode(colours.encode(light)) == pytest.approx(light, abs=1e-9)
    assert float(colours.encode(np.array(0.5))) == pytest.approx(0.735357, abs=1e-5)


@pytest.mark.parametrize("name", ["tide", "ember", "bloom", "moss"])
def test_maps_are_even_and_read_in_grey(name: str) -> None:
    table = colours.ramps()[name]
    assert table.shape == (256, 3) and table.dtype == np.uint8
    lab = oklab(table / 255.0)
    rise = np.diff(lab[:, 0][::8])
    assert (rise > 0).all() or (rise < 0).all()
    steps = np.linalg.norm(np.diff(lab[::8], axis=0), axis=1)  # of 8: rounding to bytes is noise
    assert steps.max() < 1.35 * steps.min()
    assert steps.sum() < 0.9  # from end to end without a detour around the wheel


def test_the_wheel_is_as_light_everywhere_and_closes() -> None:
    lab = oklab(colours.ramps()["wheel"] / 255.0)
    assert np.ptp(lab[:, 0]) < 0.02
    assert np.linalg.norm(lab[0] - lab[-1]) < 0.01


def test_values_have_the_units_of_their_mode() -> None:
    one = moment(2, velocity=np.array([[3, 4, 0], [0, 0, 2]], np.float32))
    assert colours.values(one, "speed").tolist() == [5.0, 2.0]
    assert colours.values(one, "material").tolist() == [0.0, 0.0]
    assert colours.available(one) == ["material", "speed", "id"]
    with pytest.raises(InputError, match=r"colour: got 'force'; allowed: material, speed, id"):
        colours.values(one, "force")
    with pytest.raises(InputError, match="colour: got 'hue'; allowed: material, speed"):
        colours.values(one, "hue")


def test_ids_scatter_and_stay() -> None:
    first, again = colours.scatter(np.arange(1000)), colours.scatter(np.arange(1000))
    assert (first == again).all()
    assert np.abs(np.diff(first.astype(int))).min() > 20  # neighbours in number differ
    assert np.bincount(first // 32, minlength=8).min() > 100  # and all shades occur


@pytest.mark.parametrize(
    ("value", "expected"), [(0.7, 1), (1.0, 1), (1.1, 2), (2.3, 5), (7, 10), (0.0012, 0.002)]
)
def test_scales_end_at_round_numbers(value: float, expected: float) -> None:
    assert colours.nice(value) == pytest.approx(expected)


def test_a_stray_does_not_stretch_the_scale() -> None:
    speed = np.full(10_000, 0.8)
    speed[:3] = 400.0
    assert colours.nice_range(speed, "speed") == (0.0, 1.0)
    assert colours.nice_range(np.zeros(5), "speed") == (0.0, 1.0)
    assert colours.nice_range(np.array([np.nan, 3.0]), "speed") == (0.0, 5.0)


def test_the_page_gets_the_same_colours() -> None:
    data = json.loads(json.dumps(colours.colours_json()))
    assert [mode["name"] for mode in data["modes"]] == list(colours.MODES)
    for mode in data["modes"]:
        assert mode["ramp"] is None or mode["ramp"] in data["ramps"]
    red, green, blue = colours.ramps()["tide"][200]
    assert data["ramps"]["tide"][200] == f"#{red:02x}{green:02x}{blue:02x}"
    assert set(data["looks"]) == {"dark", "light"}
    assert set(MATERIALS.names()) <= set(data["materials"])


def test_materials_without_a_name_get_colours_that_differ() -> None:
    made = {colours.material_colour("of my own", k) for k in range(8)}
    assert len(made) == 8


def test_unknown_looks_are_named() -> None:
    with pytest.raises(InputError, match="look: got 'sepia'; allowed: dark, light"):
        colours.look_of("sepia")
