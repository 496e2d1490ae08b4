"""Adding and removing rigid bodies of spheres, with their spheres among the grains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from berm.core.bodies import Body
from berm.core.clumps import shared
from berm.core.clusters import Cluster
from berm.core.errors import InputError
from berm.core.mass import MassProperties
from berm.core.materials import Material
from berm.core.rotations import inverse, random_rotations, turned
from berm.solvers.base import require
from berm.world.band import bounds

if TYPE_CHECKING:
    from berm.world.world import World

Array = npt.NDArray[Any]
SMALL = 20  # particles along a body that is covered before there is any grain


def add_clusters(
    world: World,
    cluster: Cluster,
    position: npt.ArrayLike,
    rotation: npt.ArrayLike | None,
    velocity: npt.ArrayLike,
    spin: npt.ArrayLike,
    material: str | Material,
) -> Array:
    """Add bodies; see `World.add_clusters`."""
    require(world.solver, "clusters", f"cluster {cluster.name!r}")
    where = np.atleast_2d(np.asarray(position, float))
    k = len(where)
    if where.ndim != 2 or where.shape[1] != 3 or not np.isfinite(where).all():
        raise InputError("clusters: position", np.shape(position), "finite numbers (k, 3)")
    q = _rotations(world, rotation, k)
    fast = np.broadcast_to(np.asarray(velocity, float), (k, 3))
    omega = np.broadcast_to(np.asarray(spin, float), (k, 3))
    for name, values in (("velocity", fast), ("spin", omega)):
        if not np.isfinite(values).all():
            raise InputError(f"clusters: {name}", values.tolist(), "finite numbers")
    index = world.add_material(material)
    density = world.materials[index].density
    spheres = len(cluster.radii)
    arms = turned(q[:, None], cluster.offsets[None])
    centres = (where[:, None] + arms).reshape(-1, 3)
    speeds = (fast[:, None] + np.cross(omega[:, None], arms)).reshape(-1, 3)
    mass = density * cluster.volume
    tags = world.grains.append(
        centres,
        np.tile(cluster.radii, k),
        speeds,
        np.full(k * spheres, mass / shared(spheres)),
        index,
        world.time,
    )
    rows = slice(world.grains.n - k * spheres, world.grains.n)
    world.grains.spin[rows, :3] = np.repeat(omega, spheres, axis=0)
    world.grains.spin[rows, 3] = spheres / mass
    world.grains.m[rows] = mass / spheres
    world.grains.owner[rows] = world.clumps.n + np.repeat(np.arange(k), spheres)
    inside = turned(inverse(q), omega)
    world.mass_added += k * mass
    return world.clumps.append(
        cluster, where, q, fast, density * np.asarray(cluster.inertia) * inside, density,
        tags.reshape(k, spheres),
    )  # fmt: skip


def _rotations(world: World, rotation: npt.ArrayLike | None, count: int) -> Array:
    if rotation is None:
        return np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
    if isinstance(rotation, str):
        if rotation != "random":
            raise InputError("clusters: rotation", rotation, "quaternions, 'random' or None")
        return random_rotations(world.rng, count)
    q = np.array(np.broadcast_to(np.asarray(rotation, float), (count, 4)))
    size = np.linalg.norm(q, axis=1)
    if not (np.isfinite(size).all() and (size > 0.0).all()):
        raise InputError("clusters: rotation", rotation, "quaternions (k, 4) of length above 0")
    result: Array = q / size[:, None]
    return result


def cover_body(world: World, body: Body, radius: float | None) -> int:
    """Let a dynamic body meet grains, boundaries and bodies by its surface particles.

    [Bell05] 3.3: spheres of `radius` (m) lie within its surface and touch it; the solver moves
    them as one clump, and the body follows. Returns the row of the clump.
    """
    from berm.world.cover import cover

    if radius is None:  # as large as the grains, if there are any
        reach = float(np.ptp(bounds(body.shape), axis=0).max())
        radius = float(world.grains.radius.mean()) if world.grains.n else reach / SMALL
    try:
        shell = cover(body.shape, radius, offset=-radius, name=body.name)
    except InputError as error:
        raise InputError(
            f"body {body.name!r}: particle_radius", radius,
            "above 0 m, and less than half of what the body is thick",
        ) from error  # fmt: skip
    material = world.materials[body.material]
    density = body.mass / shell.volume
    shell = _of_body(shell, body, density)
    add_clusters(
        world, shell, body.centre, body.bodies.q[body.row], body.bodies.v[body.row],
        body.angular_velocity,
        material.replace(density=density) if density != material.density else material,
    )  # fmt: skip
    return world.clumps.n - 1


def _of_body(shell: Cluster, body: Body, density: float) -> Cluster:
    """The shell in the principal axes that the body has, where its inertia is not its shape's."""
    b, row = body.bodies, body.row
    moments = b.moments[row] / density
    same = np.array_equal(shell.axes, b.axes[row]) and np.array_equal(shell.origin, b.offset[row])
    if same and np.allclose(shell.inertia, moments, rtol=1e-9, atol=0.0):
        return shell

    def moved(points: Array) -> Array:
        result: Array = (shell.origin + points @ shell.axes.T - b.offset[row]) @ b.axes[row]
        return result

    mesh = None if shell.mesh is None else (moved(shell.mesh[0]), shell.mesh[1])
    own = MassProperties(shell.volume, np.zeros(3), np.diag(moments))
    return Cluster(moved(shell.offsets), shell.radii, shell.name, own, mesh)


def uncover_body(world: World, body: Body) -> None:
    """Remove the spheres that cover a body, if there are any."""
    clumps, grains = world.clumps, world.grains
    at = np.flatnonzero(clumps.body == body.tag)
    if len(at):
        clumps.find_rows(grains)
        remove_with_clumps(world, np.isin(grains.owner[: grains.n], at))


def remove_with_clumps(world: World, gone: Array) -> int:
    """Remove grains, and the whole of each body that one of them belongs to."""
    grains, clumps = world.grains, world.clumps
    clumps.find_rows(grains)
    owner = grains.owner[: grains.n]
    lost = np.zeros(clumps.n, bool)
    lost[owner[gone & (owner >= 0)]] = True
    gone = gone | (lost[owner] & (owner >= 0))
    single = gone & (owner < 0)
    world.mass_removed += float(grains.mass[single].sum()) + float(clumps.mass[lost].sum())
    removed = grains.remove(gone)
    clumps.remove(lost)
    clumps.find_rows(grains)
    return removed
