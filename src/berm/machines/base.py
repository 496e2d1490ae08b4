"""Machines by name; each file registers its own. `add` makes one, `add_tool` its tool alone."""

from __future__ import annotations

import copy
import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import berm.machines
from berm.core import checks
from berm.core.errors import InputError
from berm.core.motion import Motion, rotation_about
from berm.core.registry import Registry
from berm.core.shapes import Mesh
from berm.machines.design import Design
from berm.machines.machine import Machine
from berm.machines.tool import Implement

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


def add_tool(
    world: World,
    kind: str | Design | Callable[..., Design],
    motion: Motion | None = None,
    position: npt.ArrayLike = (0.0, 0.0, 0.0),
    heading: float = 0.0,
    rake: float = 0.0,
    tool: str | None = None,
    name: str | None = None,
    **options: Any,
) -> Implement:
    """Put the tool of a machine alone into a world, driven by a motion [HBK09, Fig. 7].

    kind: of the machine, as for `add`; tool: which of its tools, the first where it is not said;
    position (3,) in m: of the middle of the edge, about which the motion turns it; heading
    (degrees): where it goes, from x towards y; rake (degrees): of the plate at its edge, downwards
    from level: 0 lies flat, 90 stands upright.
    """
    design = design_of(kind, **options)
    label = kind if isinstance(kind, str) else getattr(kind, "__name__", "machine")
    if not design.tools:
        raise InputError("add_tool: machine", label, "one that has a tool")
    chosen = next(iter(design.tools)) if tool is None else tool
    if chosen not in design.tools:
        raise InputError(f"add_tool: tool of {label}", chosen, ", ".join(design.tools))
    what, which = f"tool {name or chosen!r}", design.tools[chosen]
    angle = checks.number(f"{what}: heading", heading, "a finite number of degrees")
    pitch = checks.number(f"{what}: rake", rake, "a finite number of degrees")
    part = design.bodies[which.body]
    if not isinstance(part.shape, Mesh):
        raise InputError(f"{what}: shape", type(part.shape).__name__, "a mesh")
    corners = part.shape.vertices @ part.turn.T + np.asarray(part.at, float)
    shape = Mesh((corners - which.teeth) @ which.axes, part.shape.faces, name=part.shape.name)
    turn = rotation_about((0.0, 0.0, 1.0), math.radians(angle)) @ rotation_about(
        (0.0, 1.0, 0.0), math.radians(pitch)
    )
    body = world.add_body(
        shape, name=name or chosen, material=part.material, position=position, rotation=turn,
        motion=motion,
    )  # fmt: skip
    return Implement(world, which, body, np.zeros(3), np.eye(3))
