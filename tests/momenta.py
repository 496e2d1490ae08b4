"""What tests of conservation share: the momentum of everything in a world that is free to move."""

from __future__ import annotations

import numpy as np

from berm.world.world import World


def momenta(world: World) -> tuple[np.ndarray, np.ndarray]:
    """Momentum, and angular momentum about the origin, of grains and dynamic bodies."""
    g = world.grains
    p = g.mass.astype(float)[:, None] * g.velocity
    linear, angular = p.sum(axis=0), np.cross(g.position, p).sum(axis=0)
    for body in world.bodies:
        if body.dynamic:
            linear = linear + body.momentum
            angular = angular + np.cross(body.centre, body.momentum) + body.angular_momentum
    return linear, angular
