"""What a URDF file says: links and joints as plain data, each with its line in the file.

wiki.ros.org/urdf/XML has the format. What is read is checked here, one by one; that the whole is a
tree is checked too. What is not supported is noted, to be told in one warning.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.errors import InputError
from berm.core.motion import rotation_about
from berm.io.frames import Frame
from berm.io.problems import near
from berm.io.xml_tree import Node, read_xml

Array = npt.NDArray[np.float64]

KINDS = ("fixed", "revolute", "continuous", "prismatic", "floating")
TURNING = ("revolute", "continuous")
DRIVEN = (*TURNING, "prismatic")
SHAPES = ("box", "cylinder", "sphere", "capsule", "mesh")


@dataclass(frozen=True, eq=False)
class Geometry:
    """One collision element: a kind of SHAPES, its sizes (m) or mesh file and scale, its place."""

    kind: str
    sizes: tuple[float, ...]
    file: str
    origin: Frame
    where: str


@dataclass(frozen=True, eq=False)
class Link:
    """A link: mass (kg, 0: none given), inertia (3, 3) about its centre (3,), collision shapes."""

    name: str
    mass: float
    centre: Array
    inertia: Array
    shapes: tuple[Geometry, ...]
    where: str


@dataclass(frozen=True, eq=False)
class UrdfJoint:
    """A joint: limits in rad or m, the most that its drive can do (inf: not said), friction."""

    name: str
    kind: str
    parent: str
    child: str
    origin: Frame
    axis: Array
    limits: tuple[float, float] | None
    effort: float
    speed: float
    friction: float
    viscosity: float
    mimic: tuple[str, float, float] | None
    where: str

    @property
    def driven(self) -> bool:
        """Whether it has a position."""
        return self.kind in DRIVEN


@dataclass
class Urdf:
    """A whole file: links and joints by name, the link that is nobody's child, what is left out."""

    path: Path
    name: str
    links: dict[str, Link] = field(default_factory=dict)
    joints: dict[str, UrdfJoint] = field(default_factory=dict)
    root: str = ""
    left_out: Counter[str] = field(default_factory=Counter)

    def order(self) -> list[UrdfJoint]:
        """Return the joints such that a link's own comes before those of its children."""
        children: dict[str, list[UrdfJoint]] = {}
        for joint in self.joints.values():
            children.setdefault(joint.parent, []).append(joint)
        out: list[UrdfJoint] = []
        reached = [self.root]
        for link in reached:  # grows while we walk it
            out += children.get(link, [])
            reached += [joint.child for joint in children.get(link, [])]
        return out


def read_urdf(path: Path) -> Urdf:
    """Read and check a URDF file."""
    root = read_xml(path, "URDF file")
    if root.tag != "robot":
        raise InputError(
            f"{root.where}: URDF file", f"<{root.tag}>", "<robot> as its outermost element"
        )
    urdf = Urdf(path, root.text("name", "robot"))
    for node in root.children:
        if node.tag == "link":
            link = _link(node, urdf)
            _unused(node, link.name, urdf.links)
            urdf.links[link.name] = link
        elif node.tag == "joint":
            joint = _joint(node, urdf)
            _unused(node, joint.name, urdf.joints)
            urdf.joints[joint.name] = joint
        elif node.tag.startswith("xacro:"):
            raise InputError(
                f"{node.where}: <{node.tag}>", allowed="URDF: expand the file with xacro"
            )
        elif node.tag != "material":
            urdf.left_out[node.tag] += 1
    _check_tree(urdf, root)
    for joint in urdf.joints.values():
        if joint.mimic is not None:
            _check_mimic(joint, urdf)
    return urdf


# ---------------------------------------------------------------------- links


def _link(node: Node, urdf: Urdf) -> Link:
    name = node.text("name")
    what = f"link {name!r}"
    mass, centre, inertia = 0.0, np.zeros(3), np.zeros((3, 3))
    shapes: list[Geometry] = []
    for part in node.children:
        if part.tag == "inertial":
            mass, centre, inertia = _inertial(part, what)
        elif part.tag == "collision":
            shapes.append(_geometry(part, what))
        elif part.tag != "visual":
            urdf.left_out[f"{part.tag} of {what}"] += 1
    return Link(name, mass, centre, inertia, tuple(shapes), node.where)


def _inertial(node: Node, what: str) -> tuple[float, Array, Array]:
    """Return mass, centre of mass and inertia about it, in the link's frame."""
    origin = _origin(node, what)
    weigh = node.child("mass")
    mass = 0.0 if weigh is None else weigh.number("value", what)
    if mass < 0.0:
        raise InputError(f"{node.where}: {what}: mass", mass, "0 or more, kg")
    given = node.child("inertia")
    if given is None:
        if mass > 0.0:
            raise InputError(f"{node.where}: {what}", "mass without inertia", "both, or none")
        return 0.0, origin.origin, np.zeros((3, 3))
    i = {k: given.number(k, what, 0.0) for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")}
    matrix = np.array([
        [i["ixx"], i["ixy"], i["ixz"]], [i["ixy"], i["iyy"], i["iyz"]],
        [i["ixz"], i["iyz"], i["izz"]],
    ])  # fmt: skip
    return mass, origin.origin, origin.rotation @ matrix @ origin.rotation.T


def _geometry(node: Node, what: str) -> Geometry:
    inside = node.child("geometry")
    shape = None if inside is None else next(iter(inside.children), None)
    if shape is None or shape.tag not in SHAPES:
        got = "nothing" if shape is None else f"<{shape.tag}>"
        raise InputError(f"{node.where}: {what}: collision geometry", got, ", ".join(SHAPES))
    origin = _origin(node, what)
    if shape.tag == "mesh":
        scale = shape.vector("scale", what, (1.0, 1.0, 1.0))
        return Geometry("mesh", tuple(scale), shape.text("filename"), origin, shape.where)
    if shape.tag == "box":
        sizes: tuple[float, ...] = tuple(shape.vector("size", what))
    elif shape.tag == "sphere":
        sizes = (shape.number("radius", what),)
    else:
        sizes = (shape.number("radius", what), shape.number("length", what))
    return Geometry(shape.tag, sizes, "", origin, shape.where)


# ---------------------------------------------------------------------- joints


def _joint(node: Node, urdf: Urdf) -> UrdfJoint:
    name, kind = node.text("name"), node.text("type")
    what = f"joint {name!r}"
    if kind not in KINDS:
        raise InputError(f"{node.where}: {what}: type", kind, ", ".join(KINDS) + near(kind, KINDS))
    known = ("parent", "child", "origin", "axis", "limit", "dynamics", "mimic")
    for part in node.children:
        if part.tag not in known:
            urdf.left_out[f"{part.tag} of {what}"] += 1
    ends = [node.child(tag) for tag in ("parent", "child")]
    if None in ends:
        raise InputError(
            f"{node.where}: {what}", allowed="a <parent link=...> and a <child link=...>"
        )
    parent, child = (end.text("link") for end in ends if end is not None)
    limit, dynamics, mimic = (node.child(tag) for tag in ("limit", "dynamics", "mimic"))
    followed = None
    if mimic is not None and kind in DRIVEN:
        followed = (
            mimic.text("joint"), mimic.number("multiplier", what, 1.0),
            mimic.number("offset", what, 0.0),
        )  # fmt: skip
    return UrdfJoint(
        name, kind, parent, child, _origin(node, what), _axis(node, what),
        _limits(node, limit, kind, what),
        _most(limit, "effort", what), _most(limit, "velocity", what),
        _amount(dynamics, "friction", what), _amount(dynamics, "damping", what),
        followed, node.where,
    )  # fmt: skip


def _axis(node: Node, what: str) -> Array:
    given = node.child("axis")
    axis = np.array([1.0, 0.0, 0.0]) if given is None else given.vector("xyz", what)
    length = float(np.linalg.norm(axis))
    if length == 0.0:
        raise InputError(f"{node.where}: {what}: axis", axis.tolist(), "an axis that is not zero")
    return axis / length


def _limits(node: Node, limit: Node | None, kind: str, what: str) -> tuple[float, float] | None:
    if kind not in ("revolute", "prismatic"):
        return None
    if limit is None:
        other = ", or type continuous" if kind == "revolute" else ""
        raise InputError(
            f"{node.where}: {what}: limit", "none", f"<limit lower=... upper=...>{other}"
        )
    low, high = limit.number("lower", what, 0.0), limit.number("upper", what, 0.0)
    if not low < high:
        raise InputError(
            f"{limit.where}: {what}: limit", (low, high), "lower below upper, or type fixed"
        )
    return low, high


def _most(node: Node | None, key: str, what: str) -> float:
    """Return the largest effort or speed; 0, which many files have for it, says nothing."""
    value = 0.0 if node is None else node.number(key, what, 0.0)
    return value if value > 0.0 else math.inf


def _amount(node: Node | None, key: str, what: str) -> float:
    value = 0.0 if node is None else node.number(key, what, 0.0)
    if value < 0.0:
        assert node is not None
        raise InputError(f"{node.where}: {what}: {key}", value, "0 or more")
    return value


def _origin(node: Node, what: str) -> Frame:
    """Return the frame that <origin> gives: turned about the fixed x, then y, then z (rpy)."""
    given = node.child("origin")
    if given is None:
        return Frame()
    zero = (0.0, 0.0, 0.0)
    roll, pitch, yaw = given.vector("rpy", what, zero)
    turn = np.eye(3)
    for axis, angle in zip(np.eye(3), (roll, pitch, yaw), strict=True):
        if angle:
            turn = rotation_about(axis, float(angle)) @ turn
    return Frame(given.vector("xyz", what, zero), turn)


# ---------------------------------------------------------------------- the whole


def _unused(node: Node, name: str, known: dict[str, Any]) -> None:
    if name in known:
        raise InputError(
            f"{node.where}: <{node.tag}> {name!r}", f"again (first at {known[name].where})",
            "names that are given once",
        )  # fmt: skip


def _check_tree(urdf: Urdf, root: Node) -> None:
    if not urdf.links:
        raise InputError(f"{root.where}: robot {urdf.name!r}", "no links", "at least one <link>")
    above: dict[str, UrdfJoint] = {}
    for joint in urdf.joints.values():
        for key, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in urdf.links:
                raise InputError(
                    f"{joint.where}: joint {joint.name!r}: {key}", name,
                    ", ".join(urdf.links) + near(name, urdf.links),
                )  # fmt: skip
        if joint.child in above:
            raise InputError(
                f"{joint.where}: joint {joint.name!r}: child {joint.child!r}",
                f"a child of joint {above[joint.child].name!r} already",
                "a tree of links; close loops by joints of an extra file",
            )  # fmt: skip
        above[joint.child] = joint
    roots = [name for name in urdf.links if name not in above]
    if len(roots) != 1:
        raise InputError(
            f"{root.where}: robot {urdf.name!r}: links without a parent",
            ", ".join(roots) or "none", "exactly one: a tree of links",
        )  # fmt: skip
    urdf.root = roots[0]
    reached = {urdf.root, *(joint.child for joint in urdf.order())}
    if len(reached) < len(urdf.links):
        lost = next(name for name in urdf.links if name not in reached)
        raise InputError(
            f"{urdf.links[lost].where}: link {lost!r}", "in a ring of joints",
            "a tree of links; close loops by joints of an extra file",
        )  # fmt: skip


def _check_mimic(joint: UrdfJoint, urdf: Urdf) -> None:
    """Make sure that what a joint mimics is there, and does not come back to it."""
    seen, here = [joint.name], joint
    while here.mimic is not None:
        name, factor, _ = here.mimic
        known = [k for k, other in urdf.joints.items() if other.driven and k != here.name]
        if name not in known or factor == 0.0:
            raise InputError(
                f"{here.where}: joint {here.name!r}: mimic", (name, factor),
                f"a multiplier other than 0, and one of {', '.join(known)}{near(name, known)}",
            )  # fmt: skip
        if name in seen:
            raise InputError(
                f"{joint.where}: joint {joint.name!r}: mimic", " of ".join([*seen, name]),
                "a joint that moves by itself at the end",
            )  # fmt: skip
        seen.append(name)
        here = urdf.joints[name]
