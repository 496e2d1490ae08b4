"""Worlds for berm and for MuJoCo: a chain under load, an excavator's linkage, a heap."""

from __future__ import annotations

import numpy as np

import berm
from berm.core.joints import Ball, Hinge, Slider
from berm.solvers.multibody.multibody import Multibody

LINKS, LINK, LOAD = 8, 1.0, 8000.0  # kg: a load of a thousand times the chain
APART = 'contype="0" conaffinity="0"'
RAM = (0.15, 0.15, 1.2)  # m
SPACING = 0.25  # m, between the boxes of the heap


def alone(dt: float, substeps: int = 1, rows: str = "auto") -> berm.World:
    """A world whose bodies take `substeps` steps of dt / substeps."""
    world = berm.World(dt=dt, solver=berm.P2(substeps=substeps))
    world.solver.multibody = Multibody(rows)
    return world


def chain(dt: float) -> berm.World:
    """Links of 0.2 m hang from the origin along x, so that they swing down under their load."""
    world, before = alone(dt), None
    for k in range(LINKS):
        link = world.add_body(
            berm.Box((0.2, 0.05, 0.05)), name=f"link {k}", dynamic=True, mass=LINK,
            position=(0, 0, -0.1 - 0.2 * k), rotation=((0, 0, 1), (0, 1, 0), (-1, 0, 0)),
        )  # fmt: skip
        world.add_joint(Ball(link, before, (0, 0, -0.2 * k)))
        before = link
    load = world.add_body(
        berm.Sphere(0.2), name="load", dynamic=True, mass=LOAD, position=(0, 0, -1.8)
    )
    world.add_joint(Ball(load, before, (0, 0, -1.6)))
    return world


def chain_xml(dt: float) -> str:
    """The same chain for MuJoCo, in its reduced coordinates."""
    text, end = "", ""
    for k in range(LINKS):
        text += f'<body pos="0 0 {0.0 if k == 0 else -0.2}"><joint type="ball"/>'
        text += f'<geom type="box" size=".025 .025 .1" pos="0 0 -.1" mass="{LINK}" {APART}/>'
        end += "</body>"
    text += '<body pos="0 0 -.2"><joint type="ball"/>'
    text += f'<geom type="sphere" size=".2" pos="0 0 -.2" mass="{LOAD}" {APART}/></body>'
    return f'<mujoco><option timestep="{dt}"/><worldbody>{text}{end}</worldbody></mujoco>'


def linkage(dt: float, substeps: int = 1) -> berm.World:
    """An excavator's linkage: 14 bodies, 19 pins and slides, four closed loops, four rams."""
    world = alone(dt, substeps)
    sizes = {
        "house": (8000, (0, 0, 1.6), (3.5, 2.8, 1.4)),
        "boom": (1600, (3.0, 0, 3.3), (5.7, 0.5, 0.7)),
        "stick": (800, (5.6, 0, 2.6), (2.9, 0.4, 0.5)),
        "bucket": (900, (5.6, 0, 0.7), (1.2, 1.3, 1.1)),
        "tilt": (90, (5.3, 0, 1.5), (0.6, 0.3, 0.1)), "link": (80, (5.7, 0, 1.3), (0.6, 0.3, 0.1)),
    }  # fmt: skip
    rams = {
        "left": ("house", "boom", (0.9, 0.45, 1.5), (2.9, 0.45, 3.5)),
        "right": ("house", "boom", (0.9, -0.45, 1.5), (2.9, -0.45, 3.5)),
        "stick ram": ("boom", "stick", (3.0, 0, 4.0), (5.2, 0, 4.5)),
        "bucket ram": ("stick", "tilt", (5.0, 0, 4.2), (5.75, 0, 1.65)),
    }
    bodies = {name: part(world, name, *given) for name, given in sizes.items()}
    axis, y = (0, 1, 0), (0, 1, 0)
    pins = (
        ("boom", "house", (0.4, 0, 1.9)), ("stick", "boom", (5.4, 0, 4.0)),
        ("bucket", "stick", (5.4, 0, 1.2)), ("tilt", "stick", (5.35, 0, 1.6)),
        ("link", "tilt", (5.75, 0, 1.65)), ("bucket", "link", (5.9, 0, 1.1)),
    )  # fmt: skip
    swing = world.add_joint(Hinge(bodies["house"], None, (0, 0, 1.1), axis=(0, 0, 1)))
    swing.drive(0.0, effort=8e4)
    for a, b, where in pins:
        world.add_joint(Hinge(bodies[a], bodies[b], where, axis=axis))
    for name, (a, b, low, high) in rams.items():
        low, high = np.array(low, float), np.array(high, float)
        way = (high - low) / np.linalg.norm(high - low)
        frame = np.column_stack([np.cross(y, way), y, way])
        barrel = part(world, f"{name} barrel", 120, low + 0.3 * (high - low), RAM, frame)
        rod = part(world, f"{name} rod", 80, low + 0.75 * (high - low), RAM, frame)
        world.add_joint(Hinge(barrel, bodies[a], low, axis=axis))
        world.add_joint(Hinge(rod, bodies[b], high, axis=axis))
        ram = world.add_joint(Slider(rod, barrel, low, axis=tuple(way), name=name))
        ram.drive(0.0, effort=5e5)
    return world


def part(world, name, mass, where, size, rotation=None):
    """A part with the inertia of a box, small enough to meet no other one."""
    x, y, z = (s * s for s in size)
    return world.add_body(
        berm.Sphere(0.005), name=name, dynamic=True, mass=mass, position=where, rotation=rotation,
        inertia=mass / 12.0 * np.diag([y + z, x + z, x + y]),
    )  # fmt: skip


def heap(count: int, dt: float = 1 / 60, substeps: int = 4) -> berm.World:
    """Boxes and spheres that fall into a heap on a floor, in a lattice at first."""
    world = alone(dt, substeps)
    world.add_body(berm.Plane(), name="floor")
    rng = np.random.default_rng(0)
    across = max(2, round((count / 4) ** (1 / 3)))
    for k in range(count):
        i, j, z = k % across, (k // across) % across, k // across**2
        where = SPACING * np.array([i, j, z]) + rng.uniform(-0.02, 0.02, 3) + (0, 0, 0.2)
        shape = berm.Box((0.2, 0.16, 0.12)) if k % 2 else berm.Sphere(0.09)
        world.add_body(shape, name=f"piece {k}", dynamic=True, density=2000.0, position=where)
    return world


def heap_xml(count: int, dt: float) -> str:
    """The same heap for MuJoCo."""
    rng = np.random.default_rng(0)
    across = max(2, round((count / 4) ** (1 / 3)))
    text = '<geom type="plane" size="0 0 1"/>'
    for k in range(count):
        i, j, z = k % across, (k // across) % across, k // across**2
        x = SPACING * np.array([i, j, z]) + rng.uniform(-0.02, 0.02, 3) + (0, 0, 0.2)
        form = 'type="box" size=".1 .08 .06"' if k % 2 else 'type="sphere" size=".09"'
        text += f'<body pos="{x[0]} {x[1]} {x[2]}"><freejoint/><geom {form} density="2000"/></body>'
    head = f'<option timestep="{dt}"/><size memory="2G"/>'
    return f"<mujoco>{head}<worldbody>{text}</worldbody></mujoco>"
