"""Models of what stands beside a URDF file: its place in a scene file, and what it cannot say."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from pydantic import Field

from berm.io.schema import ZERO, Number, Part, RotationPart, Vec3
from berm.io.schema_joints import AnyJoint
from berm.io.schema_motors import AnyMotor


class ExtraFile(Part):
    """What a URDF file cannot say: joints that close loops, rams, gears, and drives.

    Bodies are links by their names in the URDF file. Anchors and axes are in the frames of those
    links: `anchor` and `axis` in that of `body`, `anchor_b` and `axis_b` in that of `to` (without
    one, in that of the machine).
    """

    joints: list[AnyJoint] = Field(default_factory=list)
    """Joints beside those of the URDF file."""
    drives: dict[str, AnyMotor] = Field(default_factory=dict)
    """Drives by the name of their joint; its largest effort and speed are the URDF file's."""


class UrdfPart(Part):
    """A machine from a URDF file."""

    file: str
    """Relative to the scene file."""
    extra: str | None = None
    """A YAML file with joints and drives beside it, relative to the scene file."""
    position: Vec3 = ZERO
    """Of its base, m."""
    rotation: RotationPart | None = None
    fixed: bool = True
    """Whether its base stays where it is."""
    prefix: str = ""
    """Put before the names of its bodies and joints."""
    positions: dict[str, Number] = Field(default_factory=dict)
    """Of joints at the start, by name: degrees or m."""
    material: str = "steel"
    """Of all its bodies: a preset, or one of `materials`."""
    packages: dict[str, str] = Field(default_factory=dict)
    """Folders of packages that meshes are in, relative to the scene file."""
    merge_fixed: bool = True
    """Whether links with fixed joints become one body; else they are welded."""

    def plan(self, folder: Path, material: Any) -> Any:
        """Return the machine's bodies and joints, checked and ready to build."""
        from berm.io.urdf_model import TURNING, read_urdf
        from berm.io.urdf_plan import Plan

        urdf = read_urdf(folder / self.file)
        turning = {name for name, joint in urdf.joints.items() if joint.kind in TURNING}
        positions = {
            name: math.radians(value) if name in turning else value
            for name, value in self.positions.items()
        }
        return Plan(
            urdf, None if self.extra is None else folder / self.extra, self.position,
            None if self.rotation is None else self.rotation.make(), self.fixed, self.prefix,
            positions, material, {name: folder / place for name, place in self.packages.items()},
            self.merge_fixed,
        )  # fmt: skip
