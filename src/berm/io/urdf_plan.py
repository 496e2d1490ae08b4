"""From a URDF file and what stands beside it to bodies and joints that a world can take."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from berm.core import checks
from berm.core.bodies import Body
from berm.core.errors import InputError
from berm.core.joints import Driven, Gear, Hinge, Joint, Slider, Weld
from berm.core.motion import is_rotation, rotation_about
from berm.core.shapes import Sphere
from berm.io import mechanism
from berm.io.frames import Frame
from berm.io.positions import Source, read_yaml
from berm.io.problems import Problems, near
from berm.io.schema_urdf import ExtraFile
from berm.io.urdf_model import Link, Urdf, UrdfJoint
from berm.io.urdf_parts import POINT, Solid, solid

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Seat:
    """Where a link is: name of its body (None: fixed to the world), frames in that and at first."""

    body: str | None
    within: Frame
    start: Frame


class Plan:
    """A machine ready to be put into a world: bodies, and joints once these are there.

    Everything is tried once on drafts of the bodies, so that what is wrong shows before a world
    is touched: `drafts` and `joints` by name. `bodies` holds what `World.add_body` takes, `seats`
    says where each link is.
    """

    def __init__(
        self, urdf: Urdf, extra: Path | None = None, position: npt.ArrayLike = (0.0, 0.0, 0.0),
        rotation: npt.ArrayLike | None = None, fixed: bool = True, prefix: str = "",
        positions: Mapping[str, float] | None = None, material: Any = "steel",
        packages: Mapping[str, Path] | None = None, merge_fixed: bool = True,
    ) -> None:  # fmt: skip
        self.urdf, self.fixed, self.prefix, self.merge = urdf, fixed, prefix, merge_fixed
        what = f"URDF {urdf.name!r}"
        where = checks.vector(f"{what}: position", position, "three finite numbers, m")
        if rotation is not None and not is_rotation(rotation):
            raise InputError(f"{what}: rotation", rotation, "a 3 x 3 rotation matrix")
        self.base = Frame(where, np.eye(3) if rotation is None else np.array(rotation, float))
        self.positions = self._positions(positions or {})
        self.bodies: list[dict[str, Any]] = []
        self.seats: dict[str, Seat] = {}
        self.notes: list[str] = []
        self._seat(material, packages or {})
        self.extra, self.source = self._read(extra)
        self.drafts = {made["name"]: mechanism.draft(made) for made in self.bodies}
        self.joints = self.join(self.drafts, lambda joint: joint, check=True)
        self._tell()

    # ---- poses ----------------------------------------------------------------------------

    def _positions(self, given: Mapping[str, float]) -> dict[str, float]:
        """Return the position of each joint at the start: as given, or as near to 0 as may be."""
        free = [name for name, j in self.urdf.joints.items() if j.driven and j.mimic is None]
        for name in given:
            if name not in free:
                listed = ", ".join(free) or "none: no joint moves by itself"
                raise InputError(f"URDF {self.urdf.name!r}: positions", name,
                                 f"{listed}{near(name, free)}")  # fmt: skip
        out: dict[str, float] = {}
        for name in free:
            low, high = self.urdf.joints[name].limits or (-math.inf, math.inf)
            wanted, allowed = given.get(name, min(max(0.0, low), high)), f"{low:g} to {high:g}"
            what = f"joint {name!r}: position at the start"
            out[name] = checks.number(what, wanted, allowed)
            if not low - 1e-9 <= out[name] <= high + 1e-9:
                raise InputError(what, wanted, allowed)
        for name, joint in self.urdf.joints.items():
            if joint.mimic is not None:
                out[name] = self._mimicked(joint, out)
        return out

    def _mimicked(self, joint: UrdfJoint, known: Mapping[str, float]) -> float:
        assert joint.mimic is not None
        name, factor, offset = joint.mimic
        other = self.urdf.joints[name]
        return (
            factor * (known[name] if other.mimic is None else self._mimicked(other, known)) + offset
        )

    def _moved(self, joint: UrdfJoint) -> Frame:
        """Return the frame of a joint's child in that of its parent, at the start."""
        if not joint.driven:
            return joint.origin
        q = self.positions[joint.name]
        if joint.kind == "prismatic":
            return joint.origin @ Frame(q * joint.axis)
        return joint.origin @ Frame(rotation=rotation_about(joint.axis, q) if q else np.eye(3))

    # ---- bodies ---------------------------------------------------------------------------

    def _seat(self, material: Any, packages: Mapping[str, Path]) -> None:
        """Group links to bodies, and find where each is."""
        urdf = self.urdf
        start = {urdf.root: self.base}
        first = {urdf.root: urdf.root}  # link whose frame is that of the group, by link
        groups: dict[str, list[tuple[Link, Frame]]] = {
            urdf.root: [(urdf.links[urdf.root], Frame())]
        }
        moved_by: dict[str, str] = {}
        for joint in urdf.order():
            moved = self._moved(joint)
            start[joint.child] = start[joint.parent] @ moved
            link = urdf.links[joint.child]
            if joint.kind == "fixed" and self.merge:
                head = first[joint.child] = first[joint.parent]
                frame = next(f for one, f in groups[head] if one.name == joint.parent) @ moved
                groups[head].append((link, frame))
            else:
                first[joint.child] = joint.child
                groups[joint.child] = [(link, Frame())]
                moved_by[joint.child] = joint.name
        for head, members in groups.items():
            one = solid(members, packages, urdf.path.parent)
            body = self._body(head, one, moved_by.get(head), start[head], material)
            inner = one.frame.inverse()
            for link, frame in members:
                self.seats[link.name] = Seat(body, inner @ frame, start[link.name])

    def _body(
        self, head: str, one: Solid, joint: str | None, start: Frame, material: Any
    ) -> str | None:
        """Note the body of a group of links; return its name, or None if there is none."""
        free = joint is not None or not self.fixed
        if not free and one.shape is None:
            return None
        frame = start @ one.frame
        made: dict[str, Any] = {
            "shape": one.shape, "name": self.prefix + head, "material": material,
            "position": frame.origin, "rotation": frame.rotation,
        }  # fmt: skip
        if free:
            self._weigh(head, one, joint, made)
        self.bodies.append(made)
        return str(made["name"])

    def _weigh(self, head: str, one: Solid, joint: str | None, made: dict[str, Any]) -> None:
        link = self.urdf.links[head]
        if not one.mass > 0.0:
            why = "fixed=False" if joint is None else f"joint {joint!r}"
            raise InputError(
                f"{link.where}: link {head!r}: mass", one.mass,
                f"an <inertial> with a mass above 0, for {why} lets it move",
            )  # fmt: skip
        moments = np.linalg.eigvalsh(one.inertia)
        if not moments[0] > 0.0:
            raise InputError(
                f"{link.where}: link {head!r}: inertia", one.inertia.tolist(),
                "a matrix whose moments are above 0, kg m^2",
            )  # fmt: skip
        if moments[2] > (1.0 + 1e-6) * (moments[0] + moments[1]):
            self.notes.append(f"the inertia of link {head!r} is not that of any solid")
        if made["shape"] is None:
            made["shape"] = Sphere(POINT)
            self.notes.append(
                f"link {head!r} has no collision geometry: a ball of {1e3 * POINT:g} mm at its "
                "centre of mass stands for it"
            )
        made |= {"dynamic": True, "mass": one.mass, "inertia": one.inertia, "centre": one.centre}

    # ---- joints ---------------------------------------------------------------------------

    def join(
        self, bodies: Mapping[str, Body], add: Callable[[Joint], Joint], check: bool = False
    ) -> dict[str, Joint]:
        """Make all joints between bodies, by name; return them by their names in the files."""
        mine = {
            link: None if seat.body is None else bodies[seat.body]
            for link, seat in self.seats.items()
        }
        made: dict[str, Any] = {}
        for joint in self.urdf.order():
            new = self._joint(joint, mine)
            if new is not None:
                made[joint.name] = add(new)
        for joint in self.urdf.joints.values():
            if joint.mimic is not None:
                name = f"mimic of {joint.name}"
                of, factor, _ = joint.mimic
                made[name] = add(Gear(made[joint.name], made[of], -factor, self.prefix + name))
        if self.extra is None:
            return made
        problems = Problems(self.source)
        made = self._join_extra(mine, made, add, problems, check)
        for name, motor in self.extra.drives.items():
            joint_made = made.get(name)
            if isinstance(joint_made, Driven):
                with problems.at("drives", name):
                    motor.drive(joint_made, *self.most(name))
            elif check:
                known = [k for k, j in made.items() if isinstance(j, Driven)]
                problems.add(("drives", name), f"no joint of this name with a position; allowed: "
                             f"{', '.join(known)}{near(name, known)}", at_key=True)  # fmt: skip
        problems.stop_if_any()
        return made

    def most(self, name: str) -> tuple[float, float]:
        """Return the largest speed (rad/s or m/s) and effort (N m or N) that the file allows."""
        joint = self.urdf.joints.get(name)
        return (math.inf, math.inf) if joint is None else (joint.speed, joint.effort)

    def _joint(self, joint: UrdfJoint, bodies: Mapping[str, Body | None]) -> Joint | None:
        body, other = bodies[joint.child], bodies[joint.parent]
        if joint.kind == "floating" or (joint.kind == "fixed" and self.merge):
            return None
        assert body is not None  # what moves has one
        frame = self.seats[joint.child].start
        name = self.prefix + joint.name
        if joint.kind == "fixed":
            return Weld(body, other, frame.origin, name)
        kind = Slider if joint.kind == "prismatic" else Hinge
        return kind(
            body, other, frame.origin, frame.direction(joint.axis), name,
            zero=self.positions[joint.name], limits=joint.limits, friction=joint.friction,
            viscosity=joint.viscosity,
        )  # fmt: skip

    def _join_extra(
        self, bodies: Mapping[str, Body | None], made: dict[str, Any],
        add: Callable[[Joint], Joint], problems: Problems, check: bool,
    ) -> dict[str, Joint]:  # fmt: skip
        assert self.extra is not None
        frames: dict[str | None, Frame] = {link: seat.start for link, seat in self.seats.items()}
        frames[None] = self.base
        for i, part in enumerate(self.extra.joints):
            name = part.names().get("body", "")
            if bodies.get(name, self) is None:
                text = f"got {name!r}, which is fixed to the world; allowed: a link that moves"
                problems.add(("joints", i, "body"), f"{text}; name this one in `to`")
        problems.stop_if_any()
        there = all(name in frames for part in self.extra.joints for name in part.names().values())
        parts = [part.placed(frames) if there else part for part in self.extra.joints]

        if check:
            named = mechanism.check_joints(parts, bodies if there else {}, bodies, problems, made)
            problems.stop_if_any()
            return named

        def called(joint: Joint) -> Joint:
            if joint.name:
                joint.joints.names[joint.row] = self.prefix + joint.name
            return add(joint)

        return mechanism.make_joints(parts, bodies, problems, called, made)

    # ---- the extra file, and what is told ------------------------------------------------------

    def _read(self, path: Path | None) -> tuple[ExtraFile | None, Source]:
        if path is None:
            return None, Source("")
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError("extra file", str(path), "a readable text file", str(error)) from error
        source = read_yaml(text, str(path))
        problems = Problems(source)
        try:
            return ExtraFile.model_validate({} if source.data is None else source.data), source
        except ValidationError as error:
            problems.add_validation(error, ExtraFile)
            problems.stop_if_any()
            raise

    def _tell(self) -> None:
        """Name everything that the machine lacks, in one warning."""
        left = [k if n == 1 else f"{n} x {k}" for k, n in self.urdf.left_out.items()]
        notes = [f"not supported and left out: {', '.join(left)}"] if left else []
        if notes + self.notes:
            warnings.warn(f"{self.urdf.path}: " + "; ".join(notes + self.notes), stacklevel=4)
