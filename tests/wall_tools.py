"""Contacts of grains with stand-ins for bodies, which a test makes by hand."""

from types import SimpleNamespace

import numpy as np

from berm.kernels.geometry.distance import POSE
from berm.kernels.walls.poses import flat_poses
from berm.solvers.walls.shapes import ShapeTable

TABLE = ShapeTable()


def poses_of(bodies, ahead, gone=0.0):
    """Poses (nb, POSE) of bodies when `gone` (s) is over, and their motion over `ahead`."""
    poses = np.empty((len(bodies), POSE))
    origin, velocity, omega = (
        np.array([getattr(body, name) for body in bodies], np.float64).reshape(-1, 3)
        for name in ("position", "velocity", "angular_velocity")
    )
    rotation = np.array([body.rotation for body in bodies], np.float64).reshape(-1, 3, 3)
    flat_poses(np.arange(len(bodies)), origin, rotation, velocity, omega, gone, ahead, poses)
    return poses


def find_bodies(walls, bodies, x, v, n, slab, dt, gravity, skin, old_row=None, gone=0.0):
    """`Walls.find` for a list of bodies."""
    TABLE.follow([body.shape for body in bodies])
    poses = poses_of(bodies, float(dt), gone)
    return walls.find(
        TABLE, np.arange(len(bodies)), poses, x, v, n, slab, dt, gravity, skin, old_row
    )


def loads_on(walls, bodies, x):
    """What `Walls.add_forces` adds to a list of bodies: forces and torques (nb, 6)."""
    state = SimpleNamespace(
        n=len(bodies), org=np.array([body.position for body in bodies], float),
        load=np.zeros((len(bodies), 3, 6)),
    )  # fmt: skip
    walls.add_forces(state, x)
    return state.load.sum(axis=1)
