"""The glass of hourglass and sandglass, and the flow that Beverloo's law gives for its neck."""

from __future__ import annotations

import math

from berm.core.materials import Material
from berm.core.motion import Linear
from berm.core.shapes import Box, Cone, Cylinder, Plane
from berm.world.world import World

GRAVITY = 9.81  # m/s^2


def beverloo(neck_radius: float, radius: float, density: float) -> float:
    """Mass flow (kg/s) of balls by Beverloo's law, C = 0.58, k = 1.4."""
    width = 2 * neck_radius - 1.4 * 2 * radius
    bulk = 0.58 * density  # packing fraction at rest
    return 0.58 * bulk * math.sqrt(GRAVITY) * width**2.5


def add_glass(
    world: World, small: float, wide: float, rise: float, tall: float, material: Material
) -> None:
    """Add two bulbs of radius `wide` and height `tall`, cones down to `small`, and a floor (m)."""
    wall = small  # thick, so that a grain that is knocked in comes back out inside
    for name, side in (("upper", 1.0), ("lower", -1.0)):
        ends = (small, wide) if side > 0 else (wide, small)
        world.add_body(
            Cone(*ends, rise, inside=True, open_ends=True, wall=wall),
            name=f"{name} cone", material=material, position=(0.0, 0.0, side * rise / 2),
        )  # fmt: skip
        world.add_body(
            Cylinder(wide, tall, inside=True, open_ends=True, wall=wall),
            name=f"{name} bulb", material=material,
            position=(0.0, 0.0, side * (rise + tall / 2)),
        )  # fmt: skip
    world.add_body(Plane(), name="floor", material=material, position=(0, 0, -rise - tall))


def add_gate(world: World, small: float, thick: float, opens: float, material: Material) -> None:
    """Add a plate of `thick` (m) below the neck that goes aside at the time `opens` (s)."""
    away = Linear((8 * small / 0.1, 0.0, 0.0), opens, opens + 0.1)
    world.add_body(
        Box((4 * small, 4 * small, thick)), name="gate", material=material,
        position=(0, 0, -0.5 * thick), motion=away,
    )  # fmt: skip
