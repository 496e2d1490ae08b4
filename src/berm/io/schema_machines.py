"""Model of a machine in a scene file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from berm.io.schema import ZERO, Number, Part, Vec3

if TYPE_CHECKING:
    from berm.machines.design import Design
    from berm.machines.machine import Machine
    from berm.world.world import World


class MachinePart(Part):
    """A machine of berm's own, with what it is told to do."""

    kind: str | None = None
    """Which one: loader, truck, crawler, ..."""
    file: str | None = None
    """Instead of a kind: a machine's own file, relative to the scene file."""
    name: str | None = None
    """Before the names of its bodies and joints; without it, the kind."""
    position: Vec3 = ZERO
    """Of its origin, on the ground below it, m."""
    heading: Number = 0.0
    """Degrees from x towards y."""
    pose: str | dict[str, Number] | None = None
    """The name of one, or positions of joints by name: degrees of hinges, m of others."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Of this kind of machine."""
    commands: list[tuple[Number, dict[str, Number]]] = Field(default_factory=list)
    """Times (s) in order, each with values of controls by name, from -1 to 1."""

    @model_validator(mode="after")
    def _one_origin(self) -> MachinePart:
        if (self.kind is None) == (self.file is None):
            raise ValueError("either kind or file")
        return self

    @property
    def label(self) -> str:
        """Its name, or what stands for one."""
        return self.name or self.kind or Path(self.file or "machine").stem

    def design(self, folder: Path) -> Design:
        """A new design."""
        from berm.io.machine_file import load_machine
        from berm.machines.base import design_of

        if self.kind is None:
            assert self.file is not None
            return design_of(load_machine(folder / self.file), **self.options)
        return design_of(self.kind, **self.options)

    def check(self, folder: Path) -> None:
        """Raise an InputError where the machine, its pose or its commands are not known."""
        from berm.machines.assembly import Assembly
        from berm.machines.machine import Controls, check_commands, wanted_pose

        label = f"machine {self.label!r}"
        design = self.design(folder)
        pose = wanted_pose(label, design, self.pose_in_radians(design))
        Assembly(label, design).check_wanted(pose)
        check_commands(label, self.commands, Controls(label, design.controls()))

    def pose_in_radians(self, design: Design) -> str | dict[str, float] | None:
        """The pose with angles of hinges in rad."""
        if self.pose is None or isinstance(self.pose, str):
            return self.pose
        turning = {name for name, link in design.joints.items() if link.kind == "hinge"}
        return {k: math.radians(v) if k in turning else v for k, v in self.pose.items()}

    def add(self, world: World, folder: Path) -> Machine:
        """Put the machine into a world."""
        from berm.machines.base import add

        design = self.design(folder)
        pose = self.pose_in_radians(design)
        machine = add(world, design, self.position, self.heading, self.label, pose)
        machine.kind = self.kind or "file"
        machine.schedule(self.commands)
        return machine
