"""Machines from files: `berm.load_machine("crane.yaml")` returns a design for `machines.add`.

The schema: `berm.io.schema_machine_file.MachineFile`. A wrong file raises one SceneFileError that
lists all problems with line, column and remedy.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

from pydantic import ValidationError

from berm.core.errors import InputError
from berm.core.materials import MATERIALS
from berm.io.positions import read_toml, read_yaml
from berm.io.problems import Problems, SceneFileError, near, show
from berm.io.schema_machine_file import MachineFile
from berm.machines.actuators import Actuator
from berm.machines.design import Coupling, Design
from berm.machines.engine import Engine

SUFFIXES = (".yaml", ".yml", ".toml")


def load_machine(path: str | os.PathLike[str]) -> Design:
    """Read a machine from a YAML or TOML file; mesh files are looked for beside it."""
    file = Path(path)
    if file.suffix.lower() not in SUFFIXES:
        raise InputError("machine file", str(file), "a name ending in " + ", ".join(SUFFIXES))
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("machine file", str(file), "a readable text file", str(error)) from error
    source = (read_toml if file.suffix.lower() == ".toml" else read_yaml)(text, str(file))
    if not isinstance(source.data, dict):
        allowed = "a map of keys and values"
        raise SceneFileError([f"{file}:1:1: got {show(source.data)}; allowed: {allowed}"])
    problems = Problems(source)
    try:
        read = MachineFile.model_validate(source.data)
    except ValidationError as error:
        problems.add_validation(error, MachineFile)
        problems.stop_if_any()
        raise
    return _design(read, file.parent, problems)


def _design(read: MachineFile, folder: Path, problems: Problems) -> Design:
    materials = {}
    for i, stuff in enumerate(read.materials):
        with problems.at("materials", i):
            materials[stuff.name] = stuff.make()
    known = [*materials, *MATERIALS.names()]
    made = Design(source=dict(read.source), load=read.load)
    for name, body in read.bodies.items():
        if body.material not in known:
            hint = near(body.material, known)
            text = f"got {body.material!r}; allowed: {', '.join(known)}{hint}"
            problems.add(("bodies", name, "material"), text)
        with problems.at("bodies", name):
            stuff_of = materials.get(body.material, body.material)
            made.bodies[name] = body.make(name, folder, stuff_of)
    made.joints = {name: joint.make() for name, joint in read.joints.items()}
    made.couplings = {
        name: Coupling(tuple(one.joints), one.ratio) for name, one in read.couplings.items()
    }
    motor = None
    if read.engine is not None:
        with problems.at("engine"):
            motor = Engine(**read.engine.model_dump())
    acting: list[Actuator] = []
    for i, actuator in enumerate(read.actuators):
        with problems.at("actuators", i):
            acting.append(actuator.make(motor))
    made.actuators = acting if motor is None else [*acting, motor]
    turning = {name for name, link in made.joints.items() if link.kind == "hinge"}
    made.poses = {
        name: {k: math.radians(v) if k in turning else v for k, v in pose.items()}
        for name, pose in read.poses.items()
    }
    problems.stop_if_any()
    with problems.at():
        made.check("machine")
    problems.stop_if_any()
    return made
