"""Changes to a running world: another material in place of one, other options of its solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from berm.core.materials import Material
from berm.scenes.parts.params import SceneParams
from berm.world.world import World


def soil_of(params: SceneParams, world: World) -> Material | None:
    """Return what the grains are made of, where the parameters say it."""
    make: Callable[[World], Material] | None = getattr(params, "soil", None)
    return make(world) if callable(make) else None  # of ground, it is a soil's name


def replace_material(world: World, old: Material, new: Material) -> int:
    """Give all that is made of `old` the values of `new`; return how many materials changed.

    Masses stay as they are, so the density must not change.
    """
    changed = [k for k, known in enumerate(world.materials) if known == old]
    for k in changed:
        world.materials[k] = new
    for emitter in world.emitters:
        if emitter.material == old:
            emitter.material = new
    return len(changed)


def retune_solver(world: World, changes: Mapping[str, Any]) -> None:
    """Give the solver other options; its contacts and what they remember stay."""
    now = world.solver
    fresh = type(now)(**{**now.options(), **changes})
    fresh.prepare(world)
    fresh.restore(now.state())
    world.solver = fresh
    world.grains.changed = True  # the list of contacts may have to reach farther
