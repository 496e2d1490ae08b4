"""Shape and mass of one body from the links of a URDF file that it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.errors import InputError
from berm.core.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from berm.io.frames import Frame
from berm.io.urdf_model import Geometry, Link

Array = npt.NDArray[np.float64]
Members = Sequence[tuple[Link, Frame]]
"""Links that make one body, with their frames in that of the first."""

POINT = 1e-3  # m: radius of the ball that stands for a link without collision geometry
_AROUND = 32  # edges about a cylinder that has become a mesh
_APART = 1e-7  # parts whose faces meet are shrunk by so much, or their edges would have four faces


@dataclass(frozen=True, eq=False)
class Solid:
    """A shape, the frame in which it stands, and mass, centre and inertia in that frame."""

    shape: Any
    frame: Frame
    mass: float
    centre: Array
    inertia: Array


def solid(members: Members, packages: Mapping[str, Path], folder: Path) -> Solid:
    """Return the body that these links make together; its shape is None where none has one."""
    mass, centre, inertia = summed(members)
    shape, own = _shape(members, packages, folder)
    if shape is None and mass > 0.0:
        own = Frame(centre)
    inner = own.inverse()
    turned = inner.rotation @ inertia @ inner.rotation.T
    return Solid(shape, own, mass, inner.point(centre), 0.5 * (turned + turned.T))


def summed(members: Members) -> tuple[float, Array, Array]:
    """Return mass, centre and inertia (3, 3) about it of links together (Steiner's theorem)."""
    heavy = [(link, frame) for link, frame in members if link.mass > 0.0]
    mass = sum(link.mass for link, _ in heavy)
    if not heavy:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    centres = [frame.point(link.centre) for link, frame in heavy]
    parts = list(zip(heavy, centres, strict=True))
    centre = np.average(centres, axis=0, weights=[link.mass for link, _ in heavy])
    inertia = np.zeros((3, 3))
    for (link, frame), c in parts:
        arm = c - centre
        inertia += frame.rotation @ link.inertia @ frame.rotation.T
        inertia += link.mass * ((arm @ arm) * np.eye(3) - np.outer(arm, arm))
    return float(mass), centre, inertia


# ---------------------------------------------------------------------- shapes


def _shape(
    members: Members, packages: Mapping[str, Path], folder: Path
) -> tuple[Shape | None, Frame]:
    """Return one shape and its frame: a single primitive stays one, several become a mesh."""
    found = [(one, frame @ one.origin) for link, frame in members for one in link.shapes]
    if not found:
        return None, Frame()
    if len(found) == 1:
        one, frame = found[0]
        made = _single(one, packages, folder)
        if not isinstance(made, Mesh):
            return made, frame
        return Mesh(frame.point(made.vertices), made.faces, name=made.name), Frame()
    parts = [
        (frame.point(vertices), faces)
        for one, frame in found
        for vertices, faces in [_triangles(_single(one, packages, folder))]
    ]
    return _joined(parts, members[0][0].name), Frame()


def _single(one: Geometry, packages: Mapping[str, Path], folder: Path) -> Any:
    """Return the shape of one collision element, in its own frame."""
    try:
        if one.kind == "mesh":
            read = Mesh.load(mesh_file(one.file, packages, folder))
            return Mesh(read.vertices * np.array(one.sizes), read.faces, name=read.name)
        if one.kind == "box":
            return Box(one.sizes)  # type: ignore[arg-type]  # it checks how many there are
        if one.kind == "sphere":
            return Sphere(one.sizes[0])
        radius, length = one.sizes
        return Cylinder(radius, length) if one.kind == "cylinder" else Capsule(radius, length)
    except InputError as error:
        raise InputError(f"{one.where}: {error}") from error


def mesh_file(name: str, packages: Mapping[str, Path], folder: Path) -> Path:
    """Return the file that a URDF in `folder` calls `name`: relative, file:// or package://.

    A package that is not among `packages` is looked for in the folders around the URDF file.
    """
    if name.startswith("package://"):
        package, _, rest = name.removeprefix("package://").partition("/")
        if package in packages:
            return packages[package] / rest
        around = [folder.resolve(), *folder.resolve().parents]
        places = [up / rest for up in around if up.name == package]
        places += [up / package / rest for up in around]
        for place in places:
            if place.is_file():
                return place
        raise InputError(
            "mesh file", name, f"a package around {folder}, or in packages={{{package!r}: folder}}"
        )
    return folder / name.removeprefix("file://")


def _triangles(shape: Any) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return vertices and faces of a shape."""
    if isinstance(shape, Mesh):
        return shape.vertices, shape.faces
    from trimesh import creation  # costs a second, so only where it is needed

    if isinstance(shape, Box):
        made = creation.box(shape.size)
    elif isinstance(shape, Sphere):
        made = creation.icosphere(subdivisions=3, radius=shape.radius)
    elif isinstance(shape, Cylinder):
        made = creation.cylinder(shape.radius, shape.height, sections=_AROUND)
    else:
        made = creation.capsule(shape.height, shape.radius, count=[_AROUND, _AROUND // 2])
        made.apply_translation(-made.bounds.mean(axis=0))  # berm's is centred
    return np.array(made.vertices, float), np.array(made.faces, np.int64)


def _joined(parts: Sequence[tuple[Array, npt.NDArray[np.int64]]], name: str) -> Mesh:
    """Return one mesh of several; closed where all of them are."""
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in parts)])
    faces = np.vstack([one + start for (_, one), start in zip(parts, starts, strict=False)])
    mesh = Mesh(np.vstack([vertices for vertices, _ in parts]), faces, name=name)
    if mesh.closed or not all(Mesh(*part).closed for part in parts):
        return mesh
    shrunk = []
    for k, (vertices, _) in enumerate(parts):
        middle = vertices.mean(axis=0)
        shrunk.append(middle + (1.0 - (k + 1) * _APART) * (vertices - middle))
    return Mesh(np.vstack(shrunk), faces, name=name)
