"""Whether a state belongs to a world and can be put back, before anything of it is.

A state notes what the scene consists of (`described`): a world with other bodies, cloths, emitters
or another solver refuses it, as it refuses numbers that no run can lead to.
"""

from __future__ import annotations

import dataclasses
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from berm.core.errors import InputError
from berm.core.materials import Material
from berm.core.saved import TAGS, Facts, Saved, check_finite
from berm.core.shapes import HeightField
from berm.world.emitters import MOST

if TYPE_CHECKING:
    from berm.world.world import World


def described(world: World) -> dict[str, Any]:
    """Return what a state of this world says about its scene."""
    return {
        "solver": world.solver.name,
        "bodies": [
            {"name": body.name, "kind": body.kind, "shape": shape_of(body.shape)}
            for body in world.bodies
        ],
        "cloths": [
            {"name": cloth.name, "vertices": len(cloth.position), "faces": len(cloth.faces),
             "links": len(cloth.links)}
            for cloth in world.cloths
        ],
        "joints": len(world.joints),
        "machines": [{"name": one.name, "kind": one.kind} for one in world.machines],
        "terrain": repr(world.terrain),
        "emitters": len(world.emitters),
        "sinks": len(world.sinks),
    }  # fmt: skip


def shape_of(shape: Any) -> str:
    """Return a shape's kind and a sum over its numbers; heights of the ground may change."""
    values = [getattr(shape, field.name) for field in dataclasses.fields(shape)]
    if isinstance(shape, HeightField):
        values = [np.shape(shape.heights), shape.cell, tuple(shape.origin)]
    total = 0
    for value in values:
        data = value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
        total = zlib.crc32(data, total)
    return f"{type(shape).__name__} {total:08x}"


def check_state(world: World, state: Any) -> None:
    """Refuse a state that is not one of this world, or not whole; nothing is changed."""
    saved = Saved(state)
    _check_scene(saved.part("scene").values, described(world))
    for name, values in saved.values.items():
        check_finite(values, f"state.{name}", endless=name in ("bodies", "joints"))
    saved.number("time")
    saved.whole("step_count", 0)
    saved.number("mass_added")
    saved.number("mass_removed")
    saved.stream("rng")
    for name in saved.part("report").values:
        saved.part("report").number(name)
    materials = _check_materials(saved, world)
    grains = saved.part("grains")
    facts = Facts(grains, world.grains.dtype, materials)
    clumps = world.clumps.check(saved.part("clumps"), facts)
    if world.grains.rotating:
        spin = grains.array("spin", facts.real, (facts.n, 4))
        if (spin[:, 3] < 0).any():
            raise grains.refuse("spin", "below 0", "inverse moments of 0 or more")
        grains.array("force", facts.real, (facts.n, 8))
        grains.array("owner", np.int32, (facts.n,), -1, clumps - 1)
    elif clumps:
        raise saved.refuse("clumps", clumps, f"none: solver {world.solver.name} has none")
    if world.grains.homed:
        grains.array("home", facts.real, (facts.n, 4))
        grains.array("still", np.int32, (facts.n,), 0)
    for emitter, one in zip(world.emitters, saved.parts("emitters"), strict=True):
        one.whole("poured", 0)
        # what has a total goes on counting when that is reached; else so many wait at most
        waiting = math.inf if emitter.total is not None else max(MOST * world.dt, 1.0)
        one.number("due", 0.0, waiting)
        one.stream("rng")
    for one in saved.parts("sinks"):
        one.whole("removed", 0)
        one.number("removed_mass", 0.0)
    _check_bodies(saved.part("bodies"), world, materials)
    _check_table(saved.part("joints"), world.joints, ("tag", "kind", "a", "b", "linked"))
    for machine in world.machines:
        machine.check(saved.part("machines").part(machine.name))
    if world.terrain is not None:
        world.terrain.check(saved.part("terrain"))
    for cloth, one in zip(world.cloths, saved.parts("cloths"), strict=True):
        cloth.check(one)
    world.solver.check_state(saved.part("solver"), facts, world)


def _check_scene(found: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Refuse a state of another scene, and say in what it differs."""
    for name in here:
        if repr(found.get(name)) == repr(here[name]):
            continue
        one, other = _short(found.get(name)), _short(here[name])
        raise InputError(f"state of another scene: {name}", one, f"{other}, as this world has")


def _short(value: Any) -> Any:
    if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
        return value
    return "; ".join(" ".join(map(str, dict(one).values())) for one in value) or "none"


def _check_table(saved: Saved, table: Any, same: Sequence[str]) -> None:
    """Refuse columns of another shape or type, and others of `same`, which nothing changes."""
    for name in ("tag", *table.COLUMNS):
        found, here = saved.get(name), getattr(table, name)
        if not isinstance(found, np.ndarray) or (found.dtype, found.shape) != (
            here.dtype, here.shape,
        ):  # fmt: skip
            got = f"{getattr(found, 'dtype', type(found).__name__)} of shape {np.shape(found)}"
            raise saved.refuse(name, got, f"{here.dtype} of shape {here.shape}")
        if name in same and not np.array_equal(found, here):
            raise saved.refuse(name, found.tolist(), f"{here.tolist()}, as this world has")
    saved.whole("next_tag", 0, TAGS)


def _check_bodies(saved: Saved, world: World, materials: int) -> None:
    _check_table(saved, world.bodies, ("tag", "kind"))
    saved.array("material", np.int64, (world.bodies.n,), 0, max(materials, 1) - 1)
    saved.array("w", np.float64, (world.bodies.n,), 0.0)
    moments = saved.array("moments", np.float64, (world.bodies.n, 3), 0.0)
    if not (moments > 0.0).all():
        raise saved.refuse("moments", 0.0, "above 0 kg m^2")
    leader = saved.array("super_body", np.int64, (world.bodies.n,), -1)
    at = np.searchsorted(world.bodies.tag, leader)
    merged = leader >= 0
    known = merged & (at < world.bodies.n)
    known[known] = world.bodies.tag[at[known]] == leader[known]
    known[known] = (at[known] == 0) | (leader[at[known]] == leader[known])
    if not np.array_equal(known, merged):
        raise saved.refuse("super_body", leader.tolist(), "-1, or a body that leads, by its tag")
    q = saved.array("q", np.float64, (world.bodies.n, 4))
    if not (np.abs((q**2).sum(axis=1) - 1.0) < 1e-3).all():
        raise saved.refuse("q", "other lengths", "unit quaternions")


def _check_values(material: Saved) -> None:
    """Refuse a material with values that are neither numbers nor names."""
    for name, value in material.values.items():
        if name in ("name", "source"):
            if not isinstance(value, str):
                raise material.refuse(name, value, "text")
        elif value is not None:
            material.number(name)


def _check_materials(saved: Saved, world: World) -> int:
    listed = saved.get("materials")
    if not isinstance(listed, list | tuple):
        raise saved.refuse("materials", type(listed).__name__, "a list")
    try:
        for k, values in enumerate(listed):
            Material(**values)
            _check_values(Saved(values, f"{saved.where}.materials[{k}]"))
    except TypeError as error:
        raise saved.refuse("materials", str(error), "materials of this version") from error
    most = max((body.material for body in world.bodies), default=-1)
    if not most < len(listed) <= TAGS:
        raise saved.refuse("materials", len(listed), f"at least {most + 1}")
    return len(listed)
