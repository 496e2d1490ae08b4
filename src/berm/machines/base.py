"""Machines by name: each file of this package registers its own; `add` puts one into a world."""

from __future__ import annotations

import copy
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

import berm.machines
from berm.core.errors import InputError
from berm.core.registry import Registry
from berm.machines.design import Design
from berm.machines.machine import Machine

if TYPE_CHECKING:
    from berm.world.world import World

MACHINES: Registry[Callable[..., Design]] = Registry("machine")


def load_all() -> None:
    """Import every module of this package, so that each machine registers itself."""
    for module in pkgutil.iter_modules(berm.machines.__path__):
        importlib.import_module(f"berm.machines.{module.name}")


def design_of(kind: str | Design | Callable[..., Design], **options: Any) -> Design:
    """Return a new design: of a registered machine by name, or of a function, with its options."""
    if isinstance(kind, Design):
        if options:
            raise InputError("machine: options", sorted(options), "none: the design is made")
        return copy.deepcopy(kind)  # its actuators are those of one machine
    if isinstance(kind, str):
        load_all()
        make = MACHINES.get(kind)
    else:
        make = kind
    known = inspect.signature(make).parameters
    for name in options:
        if name not in known:
            raise InputError(f"machine {kind!r}: option", name, ", ".join(known) or "none")
    return make(**options)


def add(
    world: World,
    kind: str | Design | Callable[..., Design],
    position: npt.ArrayLike = (0.0, 0.0, 0.0),
    heading: float = 0.0,
    name: str | None = None,
    pose: str | Mapping[str, float] | None = None,
    **options: Any,
) -> Machine:
    """Put a machine into a world.

    kind: its name (`berm.machines.MACHINES`), or a design of your own, or a function that makes one
    with `options`; position (3,) in m of its origin, on the ground below it; heading (degrees) from
    x towards y; pose: the name of one, or positions (m, rad) of joints by name.
    """
    told = kind if isinstance(kind, str) else getattr(kind, "__name__", "machine")
    label = name or told
    if any(known.name == label for known in world.machines):
        raise InputError("machine name", label, "a name that no other machine has")
    machine = Machine(world, told, design_of(kind, **options), label, position, heading, pose)
    world.machines.append(machine)
    return machine
