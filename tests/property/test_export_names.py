"""Names that people give to bodies and materials survive every format, whatever is in them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import berm
from berm.exports.usd import _prim_names
from berm.io.recording import Recorder

# all that UTF-8 can hold; HDF5 keeps no NUL
NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
AWKWARD = ["%d", "a,b", 'say "x"', "two\nlines", "re\rturn", " ", "0", "ä", "a b", "a_b", "%%s{}"]


@given(st.lists(st.one_of(NAMES, st.sampled_from(AWKWARD)), max_size=8))
def test_prim_names_are_valid_and_differ(texts: list[str]) -> None:
    sdf = pytest.importorskip("pxr.Sdf")
    names = _prim_names(texts)
    assert len(set(names)) == len(texts)
    assert all(sdf.Path.IsValidIdentifier(name) for name in names)


@settings(max_examples=25)
@given(
    st.lists(st.one_of(NAMES, st.sampled_from(AWKWARD)), min_size=1, max_size=4, unique=True),
    st.one_of(NAMES, st.sampled_from(AWKWARD)),
)
def test_names_come_back(
    tmp_path_factory: pytest.TempPathFactory, bodies: list[str], material: str
) -> None:
    folder = tmp_path_factory.mktemp("names")
    world = berm.World()
    for name in bodies:
        world.add_body(berm.Sphere(0.1), name=name, material=berm.Material(material))
    world.add_grains([[0.0, 0.0, 1.0]], 0.1, material=berm.Material(material))
    with Recorder(folder / "run.h5") as recorder:
        recorder.start(world)
    grains, poses = (rows(path) for path in berm.export(folder / "run.h5", folder / "out.csv"))
    assert [row["material"] for row in grains] == [material]
    assert [row["body"] for row in poses] == bodies
    with np.load(berm.export(folder / "run.h5", folder / "out.npz")[0]) as data:
        assert data["body_names"].tolist() == bodies
        assert data["material_names"].tolist() == [material]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
