"""URDF files: links become bodies, joints joints.

    arm = berm.load_urdf(world, "arm.urdf", extra="arm.yaml", positions={"elbow": 0.5})
    arm.drive_to("elbow", 1.0)

The format: wiki.ros.org/urdf/XML. What it cannot say, closed loops and drives, stands in the extra
file (`berm.io.schema_urdf.ExtraFile`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy.typing as npt

from berm.core.bodies import Body
from berm.core.errors import InputError
from berm.core.joints import Driven, Joint
from berm.core.materials import Material
from berm.io.frames import Array, Frame
from berm.io.problems import near
from berm.io.urdf_model import read_urdf
from berm.io.urdf_plan import Plan

if TYPE_CHECKING:
    from berm.world.world import World


class LoadedUrdf:
    """A machine from a URDF file: `bodies` by link and `joints` by name, as the files call them.

    Links that fixed joints hold together share a body; a base that is fixed to the world and has
    no collision geometry has none. `drive`, `drive_to` and `push` are those of the joints, with
    the speed and effort that the URDF file allows as the most.
    """

    def __init__(self, plan: Plan, bodies: Mapping[str, Body], joints: Mapping[str, Joint]) -> None:
        self.name = plan.urdf.name
        self.bodies = {
            link: bodies[seat.body] for link, seat in plan.seats.items() if seat.body is not None
        }
        self.joints = dict(joints)
        self._plan = plan

    def __repr__(self) -> str:
        links = len(self._plan.seats)
        return f"LoadedUrdf({self.name!r}, {links} links, {len(self.joints)} joints)"

    def frame(self, link: str) -> tuple[Array, Array]:
        """Return position (3,) in m and rotation (3, 3) of a link's frame now, merged ones too."""
        seats = self._plan.seats
        if link not in seats:
            raise InputError(f"{self.name}: link", link, ", ".join(seats) + near(link, seats))
        seat = seats[link]
        if seat.body is None:
            return seat.start.origin.copy(), seat.start.rotation.copy()
        body = self.bodies[link]
        now = Frame(body.position, body.rotation) @ seat.within
        return now.origin, now.rotation

    @property
    def positions(self) -> dict[str, float]:
        """Positions (rad or m) of all joints that have one, by name."""
        return {k: j.position for k, j in self.joints.items() if isinstance(j, Driven)}

    def drive(self, joint: str, speed: float, effort: float | None = None) -> None:
        """Head for a speed (rad/s or m/s) from now on."""
        most = self._plan.most(joint)[1]
        self._driven(joint).drive(speed, most if effort is None else min(effort, most))

    def drive_to(
        self, joint: str, position: float, speed: float | None = None, effort: float | None = None
    ) -> None:
        """Head for a position (rad or m) from now on."""
        fast, strong = self._plan.most(joint)
        self._driven(joint).drive_to(
            position, fast if speed is None else min(speed, fast),
            strong if effort is None else min(effort, strong),
        )  # fmt: skip

    def push(self, joint: str, effort: float) -> None:
        """Exert a constant effort (N m or N) from now on, as far as the file allows it."""
        most = self._plan.most(joint)[1]
        self._driven(joint).push(min(max(effort, -most), most))

    def _driven(self, name: str) -> Driven:
        joint = self.joints.get(name)
        if not isinstance(joint, Driven):
            known = list(self.positions)
            raise InputError(f"{self.name}: joint", name, ", ".join(known) + near(name, known))
        return joint


def load_urdf(
    world: World,
    path: str | os.PathLike[str],
    *,
    extra: str | os.PathLike[str] | None = None,
    position: npt.ArrayLike = (0.0, 0.0, 0.0),
    rotation: npt.ArrayLike | None = None,
    fixed: bool = True,
    prefix: str = "",
    positions: Mapping[str, float] | None = None,
    material: str | Material = "steel",
    packages: Mapping[str, str | os.PathLike[str]] | None = None,
    merge_fixed: bool = True,
) -> LoadedUrdf:
    """Put a machine from a URDF file into a world.

    position (3,) in m and rotation (3, 3) of its base, which stays there if `fixed`; prefix of the
    names of its bodies and joints; positions (rad or m) of joints at the start, by name, default
    as near to 0 as their limits let them; packages: folders by name, for package:// of meshes;
    merge_fixed: links with fixed joints become one body, else they are welded. extra: a YAML file
    with what URDF cannot say, joints that close loops and drives. What is not supported is named
    in one warning.
    """
    folders = {name: Path(folder) for name, folder in (packages or {}).items()}
    plan = Plan(
        read_urdf(Path(path)), None if extra is None else Path(extra), position, rotation, fixed,
        prefix, positions, material, folders, merge_fixed,
    )  # fmt: skip
    bodies: dict[str, Body] = {}
    joints: list[Joint] = []

    def add(joint: Joint) -> Joint:
        joints.append(world.add_joint(joint))
        return joint

    try:
        for made in plan.bodies:
            bodies[made["name"]] = world.add_body(**made)
        return LoadedUrdf(plan, bodies, plan.join(bodies, add))
    except InputError:
        for joint in reversed(joints):
            world.remove_joint(joint)
        for body in bodies.values():
            world.remove_body(body)
        raise
