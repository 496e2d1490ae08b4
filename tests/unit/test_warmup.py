"""What is compiled before a run starts: all that its world needs, so that no step stutters."""

from __future__ import annotations

from pathlib import Path

import pytest

from berm.apps import warmup
from berm.kernels import jit
from berm.scenes.base import make_params, scene

SCENES = {
    "pile": ["grains"],
    "wheel": ["grains", "bodies", "joints", "meshes"],
    "sandglass": ["grains", "clusters"],
    "cloth-grains": ["grains", "cloth"],
    "loader": ["bodies", "joints", "meshes"],
}


@pytest.mark.parametrize("name", SCENES)
def test_what_a_world_has_is_warmed_up(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(jit, "CACHE_FOLDER", tmp_path)
    one = scene(name)
    given = {"wheel": {}, "loader": {"rocks": 20}}.get(name, {"grains": 100})
    world = one.build(make_params(one, given))
    assert warmup.features(world) == SCENES[name]
    assert warmup.needed(world)
    tried: list[str] = []
    for feature, add in warmup.ADD.items():
        monkeypatch.setitem(
            warmup.ADD, feature, lambda small, add=add, feature=feature: (
                tried.append(feature), add(small)
            ),
        )  # fmt: skip
    warmup.warm_up(world)
    assert tried == SCENES[name]
    assert not warmup.needed(world)


def test_a_world_with_more_in_it_is_warmed_up_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(jit, "CACHE_FOLDER", tmp_path)
    plain, one = scene("pile"), scene("plank")
    warmup.warm_up(plain.build(make_params(plain, {})))
    assert warmup.needed(one.build(make_params(one, {})))
