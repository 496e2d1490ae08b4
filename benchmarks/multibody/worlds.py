"""Worlds for berm and for MuJoCo: a chain under load, an excavator's linkage, heaps."""

from __future__ import annotations

import numpy as np

import berm
from berm.core.joints import Ball, Hinge, Slider, Weld
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


Y = (0.0, 1.0, 0.0)
PARTS = {  # kg, middle and size (m)
    "house": (8000, (0, 0, 1.6), (3.5, 2.8, 1.4)),
    "boom": (1600, (3.0, 0, 3.3), (5.7, 0.5, 0.7)),
    "stick": (800, (5.6, 0, 2.6), (2.9, 0.4, 0.5)),
    "bucket": (900, (5.6, 0, 0.7), (1.2, 1.3, 1.1)),
    "tilt": (90, (5.3, 0, 1.5), (0.6, 0.3, 0.1)),
    "link": (80, (5.7, 0, 1.3), (0.6, 0.3, 0.1)),
}
PINS = (  # body, the one that it turns on, where; the last closes a loop
    ("boom", "house", (0.4, 0, 1.9)), ("stick", "boom", (5.4, 0, 4.0)),
    ("bucket", "stick", (5.4, 0, 1.2)), ("tilt", "stick", (5.35, 0, 1.6)),
    ("link", "tilt", (5.75, 0, 1.65)), ("bucket", "link", (5.9, 0, 1.1)),
)  # fmt: skip
RAMS = {  # barrel's and rod's bodies, and where they are pinned to them
    "left": ("house", "boom", (0.9, 0.45, 1.5), (2.9, 0.45, 3.5)),
    "right": ("house", "boom", (0.9, -0.45, 1.5), (2.9, -0.45, 3.5)),
    "stick ram": ("boom", "stick", (3.0, 0, 4.0), (5.2, 0, 4.5)),
    "bucket ram": ("stick", "tilt", (5.0, 0, 4.2), (5.75, 0, 1.65)),
}
BARREL, ROD = 120, 80  # kg
SWING, EFFORT, SWING_EFFORT = (0, 0, 1.1), 5e5, 8e4  # m, N, N m


def linkage(dt: float, substeps: int = 1, on_pads: bool = False) -> berm.World:
    """An excavator's linkage: 14 bodies, 19 pins and slides, five closed loops, four rams.

    on_pads: it stands on four pads, and its bucket on the ground, with 20 contacts in all.
    """
    world = alone(dt, substeps)
    shapes = {"bucket": berm.Box((1.0, 1.2, 1.1))} if on_pads else {}
    bodies = {name: part(world, name, *PARTS[name], shape=shapes.get(name)) for name in PARTS}
    base = _pads(world) if on_pads else None
    swing = world.add_joint(Hinge(bodies["house"], base, SWING, axis=(0, 0, 1), name="swing"))
    swing.drive(0.0, effort=SWING_EFFORT)
    for a, b, where in PINS:
        world.add_joint(Hinge(bodies[a], bodies[b], where, axis=Y))
    for name, (a, b, low, high) in RAMS.items():
        low, high, frame = _ram(low, high)
        barrel = part(world, f"{name} barrel", BARREL, low + 0.3 * (high - low), RAM, frame)
        rod = part(world, f"{name} rod", ROD, low + 0.75 * (high - low), RAM, frame)
        world.add_joint(Hinge(barrel, bodies[a], low, axis=Y))
        world.add_joint(Hinge(rod, bodies[b], high, axis=Y))
        ram = world.add_joint(Slider(rod, barrel, low, axis=tuple(frame[:, 2]), name=name))
        ram.drive(0.0, effort=EFFORT)
    return world


def _ram(low, high):
    """Ends and axes of a ram, z along it."""
    low, high = np.array(low, float), np.array(high, float)
    way = (high - low) / np.linalg.norm(high - low)
    return low, high, np.column_stack([np.cross(Y, way), Y, way])


def _pads(world):
    """A frame on four welded pads on the ground; the bucket's underside lies as low as theirs."""
    ground = PARTS["bucket"][1][2] - 0.55
    world.add_body(berm.Plane(), name="ground", position=(0, 0, ground))
    frame = part(world, "frame", 4000, (0, 0, 0.8), (3.0, 2.4, 0.4))
    for n, (x, y) in enumerate([(1.5, 1.2), (1.5, -1.2), (-1.5, 1.2), (-1.5, -1.2)]):
        where = (x, y, ground + 0.1)
        pad = part(world, f"pad {n}", 700, where, (1.2, 0.5, 0.2), shape=berm.Box((1.2, 0.5, 0.2)))
        world.add_joint(Weld(pad, frame, where))
    return frame


def linkage_xml(dt: float) -> str:
    """The same linkage for MuJoCo: a tree in reduced coordinates, loops closed by equalities.

    Rams hold by dry friction with the drives' effort: a drive at rest, in MuJoCo's own rows. Its
    velocity actuators are springs and dampers outside of them; stiff enough to hold, they shake.
    """
    made = {name: (*PARTS[name], None) for name in PARTS}
    hangs = {"house": ("world", "hinge", SWING, (0, 0, 1))}
    hangs |= {a: (b, "hinge", where, Y) for a, b, where in PINS[:-1]}
    loops = [PINS[-1]]
    for name, (a, b, low, high) in RAMS.items():
        low, high, frame = _ram(low, high)
        barrel, rod = f"{name} barrel", f"{name} rod"
        made[barrel] = (BARREL, low + 0.3 * (high - low), RAM, frame)
        made[rod] = (ROD, low + 0.75 * (high - low), RAM, frame)
        hangs[barrel] = (a, "hinge", low, Y)
        hangs[rod] = (barrel, "slide", low, frame[:, 2])
        loops.append((rod, b, high))

    soft = f'solref{{0}}="{2 * dt} 1" solimp{{0}}="{STIFF} {STIFF} .001"'
    held = {f"{name} rod": EFFORT for name in RAMS} | {"house": SWING_EFFORT}
    held = {k: f'frictionloss="{most}" {soft.format("friction")}' for k, most in held.items()}

    def body(name: str) -> str:
        mass, where, size, frame = made[name]
        parent, kind, anchor, axis = hangs[name]
        origin = np.zeros(3) if parent == "world" else np.array(made[parent][1], float)
        x, y, z = (s * s for s in size)
        turn = np.eye(3) if frame is None else frame
        w = turn @ np.diag([y + z, x + z, x + y]) @ turn.T * mass / 12.0
        full = (w[0, 0], w[1, 1], w[2, 2], w[0, 1], w[0, 2], w[1, 2])
        text = f'<body name="{name}" pos="{_row(np.array(where) - origin)}">'
        text += f'<inertial pos="0 0 0" mass="{mass}" fullinertia="{_row(full)}"/>'
        text += f'<joint name="{name}" type="{kind}" pos="{_row(np.array(anchor) - where)}" '
        text += f'axis="{_row(axis)}" {held.get(name, "")}/>'
        return text + "".join(body(k) for k in hangs if hangs[k][0] == name) + "</body>"

    ties = "".join(
        f'<connect body1="{a}" body2="{b}" anchor="{_row(np.array(where) - made[a][1])}" '
        f"{soft.format('')}/>"
        for a, b, where in loops
    )
    return (
        f'<mujoco><option timestep="{dt}"/><worldbody>{body("house")}</worldbody>'
        f"<equality>{ties}</equality></mujoco>"
    )


STIFF = 0.9999  # MuJoCo's impedance of loops and holding rams: the hardest that it takes


def _row(numbers) -> str:
    return " ".join(f"{float(x):.17g}" for x in numbers)


def part(world, name, mass, where, size, rotation=None, shape=None):
    """A part with the inertia of a box; without a shape it is too small to meet another one."""
    x, y, z = (s * s for s in size)
    return world.add_body(
        shape or berm.Sphere(0.005), name=name, dynamic=True, mass=mass, position=where,
        rotation=rotation, inertia=mass / 12.0 * np.diag([y + z, x + z, x + y]),
    )  # fmt: skip


def heap(count: int, dt: float = 1 / 60, substeps: int = 4) -> berm.World:
    """Boxes and spheres that fall into a heap on a floor, in a lattice at first; rows are swept."""
    world = alone(dt, substeps, "sweeps")
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


def rocks(count: int, kind: str) -> berm.World:
    """Rocks that fall into a heap on a floor; their rows are swept."""
    world = alone(1 / 60, 1, "sweeps")
    world.add_body(berm.Plane(), name="floor", material="gravel")
    berm.add_rocks(world, count, (0.45, 0.75), kind, base=(0, 0, 0.1))
    return world
