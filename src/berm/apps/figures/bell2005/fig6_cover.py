"""[Bell05] Fig. 6: an organic mesh is covered with particles, evenly."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.bell2005 import FIGURES
from berm.apps.figures.bell2005.drawing import draw_spheres
from berm.core.shapes import Mesh
from berm.world.cover import surface_particles

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

Array = npt.NDArray[Any]

PRINTED = 4147  # particles on the camel
OFF, UNEVEN = 0.1, 0.25  # largest |phi| / R, variation of spacing
# parts of an animal: from, to (m) and radius at both ends
PARTS = (
    ((-0.55, 0.00, 0.95), (0.55, 0.00, 0.95), 0.26, 0.28),  # trunk
    ((-0.20, 0.00, 1.10), (-0.20, 0.00, 1.28), 0.18, 0.12),  # humps
    ((0.25, 0.00, 1.10), (0.25, 0.00, 1.28), 0.18, 0.12),
    ((0.60, 0.00, 0.95), (0.95, 0.00, 1.00), 0.20, 0.13),  # neck
    ((0.95, 0.00, 1.00), (1.05, 0.00, 1.40), 0.13, 0.11),
    ((1.05, 0.00, 1.42), (1.32, 0.00, 1.34), 0.13, 0.09),  # head
    ((-0.78, 0.00, 0.95), (-0.88, 0.00, 0.60), 0.05, 0.045),  # tail
    ((0.45, 0.15, 0.85), (0.50, 0.17, 0.05), 0.12, 0.07),  # legs
    ((0.45, -0.15, 0.85), (0.40, -0.17, 0.05), 0.12, 0.07),
    ((-0.50, 0.15, 0.85), (-0.45, 0.17, 0.05), 0.12, 0.07),
    ((-0.50, -0.15, 0.85), (-0.58, -0.17, 0.05), 0.12, 0.07),
)
SMOOTH = 0.06  # m over which parts grow together


@FIGURES.register("6")
class Cover(Figure):
    """A camel of cones that have grown together, as a mesh."""

    number: ClassVar[str] = "6"
    title: ClassVar[str] = "a body covered with surface particles"
    claim: ClassVar[str] = "floaters (20) cover a wide range of models evenly"
    setup: ClassVar[str] = (
        "a camel built of rounded cones that have grown together, meshed by marching tetrahedra; "
        f"{PRINTED:,} particles in print; offset 0 and -R"
    )
    size: ClassVar[tuple[float, float]] = (10.0, 5.5)

    def measure(self, quick: bool, say: Say) -> Measured:
        """Cover it at two offsets."""
        body = camel(0.05 if quick else 0.02)
        radius = 0.045 if quick else 0.0252
        rows: list[dict[str, Any]] = []
        extra: dict[str, Any] = {"radius": radius, "mesh": body}
        for name, offset in (("on the surface", 0.0), ("inside", -radius)):
            points, phi = surface_particles(body, radius, offset)
            near = cKDTree(points).query(points, k=2)[0][:, 1]
            rows.append({
                "offset_R": offset / radius, "particles": len(points), "triangles": len(body.faces),
                "largest_phi_R": float(np.abs(phi).max() / radius),
                "variation": float(near.std() / near.mean()),
                "spacing_R": float(near.mean() / radius),
            })  # fmt: skip
            extra[name] = points
            say(f"{name}: {len(points)} particles")
        return Measured(rows, extra)

    def judge(self, measured: Measured) -> list[Verdict]:
        """On the surface, and evenly spaced."""
        return [
            Verdict(
                bool(row["largest_phi_R"] < OFF and row["variation"] < UNEVEN),
                f"offset {row['offset_R']:g} R: {row['particles']} particles, |phi| at most "
                f"{row['largest_phi_R']:.1e} R (wanted {OFF}), spacing varies by "
                f"{row['variation']:.3f} (wanted {UNEVEN})",
            )
            for row in measured.rows
        ]

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """The particles from the side, and the distances to the nearest neighbour."""
        parts = canvas.add_gridspec(1, 3)
        points, radius = measured.extra["on the surface"], measured.extra["radius"]
        spheres = np.column_stack([points, np.full(len(points), radius), np.zeros(len(points))])
        ax = canvas.add_subplot(parts[0, :2])
        draw_spheres(ax, spheres, steel=[0.0])
        ax.set_xlim(-1.1, 1.6)
        ax.set_ylim(-0.1, 1.7)
        ax.set_title(f"{len(points):,} particles", fontsize=10, loc="left")
        ax = canvas.add_subplot(parts[0, 2])
        near = cKDTree(points).query(points, k=2)[0][:, 1]
        ax.hist(near / radius, bins=40, color="#3a6ea5")
        ax.set_xlabel("distance to the nearest (R)")
        ax.set_ylabel("particles")


def camel(cell: float) -> Mesh:
    """Return a camel as a closed mesh; cell (m): of the grid that its surface is found on."""
    low, high = np.array([-1.1, -0.5, -0.2]), np.array([1.6, 0.5, 1.7])
    axes = [np.arange(a, b + cell, cell) for a, b in zip(low, high, strict=True)]
    place = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    total = np.zeros(place.shape[:3])
    for start, end, thick, thin in PARTS:
        a, along = np.array(start), np.array(end) - np.array(start)
        t = np.clip((place - a) @ along / (along @ along), 0.0, 1.0)
        far = np.linalg.norm(place - a - t[..., None] * along, axis=-1)
        total += np.exp(-(far - (1 - t) * thick - t * thin) / SMOOTH)
    # the distance of all, smoothed: log of the sum
    field = -SMOOTH * np.log(np.maximum(total, 1e-300))
    return marching_tetrahedra(place, field)


def marching_tetrahedra(place: Array, field: Array) -> Mesh:
    """Return the closed surface field = 0 on a grid of places (i, j, k, 3), solid where below 0.

    Each cube is cut into six tetrahedra around its diagonal. Corners keep away from the nodes, so
    that no triangle is a sliver, in the spirit of [TPG99].
    """
    shape = field.shape
    number = np.arange(field.size).reshape(shape)
    corner = np.stack(np.meshgrid(*(np.arange(n - 1) for n in shape), indexing="ij"), axis=-1)
    ways = []
    for order in permutations(range(3)):  # along the edges from one end of the diagonal to another
        at, path = np.zeros(3, int), [np.zeros(3, int)]
        for axis in order:
            at = at + np.eye(3, dtype=int)[axis]
            path.append(at)
        ways.append(path)
    cells = np.concatenate(
        [
            np.stack([number[tuple(np.moveaxis(corner + step, -1, 0))].ravel() for step in path], 1)
            for path in ways
        ]
    )
    nodes, value = place.reshape(-1, 3), field.ravel()
    inside = value[cells] < 0
    cells = np.take_along_axis(cells, np.argsort(~inside, axis=1, kind="stable"), axis=1)
    count = inside.sum(axis=1)
    # edges, by places in the cell, of the triangles for one, two and three nodes inside
    cases = {
        1: (((0, 1), (0, 2), (0, 3)),),
        2: (((0, 2), (0, 3), (1, 3)), ((0, 2), (1, 3), (1, 2))),
        3: (((0, 3), (1, 3), (2, 3)),),
    }
    pairs = np.concatenate(
        [
            np.stack([cells[count == k][:, list(edge)] for edge in triangle], axis=1)
            for k, triangles in cases.items()
            for triangle in triangles
        ]
    )  # (triangles, 3 corners, 2 nodes: inside and outside)
    edges, faces = np.unique(pairs.reshape(-1, 2), axis=0, return_inverse=True)
    faces = faces.reshape(-1, 3)
    a, b = value[edges[:, 0]], value[edges[:, 1]]
    t = np.clip(a / (a - b), 0.1, 0.9)[:, None]
    vertices = (1 - t) * nodes[edges[:, 0]] + t * nodes[edges[:, 1]]
    p, q, r = np.moveaxis(vertices[faces], 1, 0)
    out = (nodes[pairs[:, :, 1]] - nodes[pairs[:, :, 0]]).sum(axis=1)
    wrong = np.einsum("ij,ij->i", np.cross(q - p, r - p), out) < 0
    faces[wrong] = faces[wrong][:, ::-1]
    return Mesh(vertices, faces, name="camel")
