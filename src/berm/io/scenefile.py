"""Scenes as YAML or TOML files: a registered scene with parameters, or a whole world.

    scene: pile                      gravity: [0, 0, -9.81]
    parameters: {grains: 2000}       bodies: [{shape: {kind: plane}}]
                                     grains: [{kind: lattice, low: ..., high: ..., radius: 0.02}]

A wrong file raises one SceneFileError that lists all problems with line, column and remedy.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model

from berm.core.errors import InputError
from berm.core.materials import MATERIALS, Material
from berm.core.registry import Registry
from berm.io import mechanism, scene_terrain
from berm.io.positions import Source, read_toml, read_yaml
from berm.io.problems import Problems, SceneFileError, near, show
from berm.io.schema import Part
from berm.io.schema_world import SceneFile, WorldFile
from berm.solvers.choice import Choice
from berm.solvers.choice import names as solver_names

if TYPE_CHECKING:
    from berm.world.world import World

__all__ = ["LoadedScene", "SceneFileError", "json_schema", "load_scene"]

_SECONDS = 5.0  # of a world whose file does not say
_SUFFIXES = (".yaml", ".yml", ".toml")


@dataclass
class LoadedScene:
    """A scene from a file, checked and ready to build."""

    name: str
    path: Path
    seconds: float
    record_every: float
    record_fields: tuple[str, ...]
    parameters: dict[str, Any]
    solver: Choice
    """The solver that the file names, or the scene's own."""
    build: Callable[..., World]
    """Return a new world; each call gives an independent one. Takes another choice of solver."""
    check: Callable[[World, Any], list[Any]] = field(default=lambda world, history: [])
    """Return the outcomes of the scene's own check; a world from a file has none."""
    params: Any = None
    """Parameters of a registered scene, as its own model."""
    scene: Any = None
    """The registered scene that the file names, if it names one."""


def load_scene(path: str | os.PathLike[str], scenes: Registry[Any] | None = None) -> LoadedScene:
    """Read and check a scene file; `scenes` are the known scenes (default: berm's own)."""
    file = Path(path)
    source = _read(file)
    if not isinstance(source.data, dict):
        allowed = "a map of keys and values"
        raise SceneFileError([f"{file}:1:1: got {show(source.data)}; allowed: {allowed}"])
    source.data = {str(key): value for key, value in source.data.items()}
    problems = Problems(source)
    if "scene" in source.data:
        return _load_named(source, problems, file, _known_scenes(scenes))
    return _load_world(source, problems, file)


def json_schema(scenes: Registry[Any] | None = None) -> dict[str, Any]:
    """Return the JSON schema of scene files, for editors: a world, or one branch a scene."""
    known = _known_scenes(scenes)
    branches = [_world_model(), *(_scene_model(name, known.get(name)) for name in known.names())]
    either: Any = Union[tuple(branches)]  # noqa: UP007
    schema: dict[str, Any] = TypeAdapter(either).json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "berm scene file"
    for file in schema["$defs"].values():
        solver = file.get("properties", {}).get("solver")
        if solver is not None:
            solver["anyOf"] = [{"enum": solver_names()}, *solver["anyOf"]]  # its name will do
    return schema


# ---------------------------------------------------------------------- reading


def _read(file: Path) -> Source:
    if file.suffix.lower() not in _SUFFIXES:
        raise InputError("scene file", str(file), "a name ending in " + ", ".join(_SUFFIXES))
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("scene file", str(file), "a readable text file", str(error)) from error
    reader = read_toml if file.suffix.lower() == ".toml" else read_yaml
    try:
        return reader(text, str(file))
    except RecursionError:
        raise InputError(
            "scene file", str(file), "lists and maps that end, and not hundreds within each other"
        ) from None


def _validate(source: Source, problems: Problems, model: type[BaseModel]) -> Any:
    solver = source.data.get("solver")
    data = {**source.data, "solver": {"name": solver}} if isinstance(solver, str) else source.data
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems.add_validation(error, model)
        problems.stop_if_any()
        raise


def _load_named(
    source: Source, problems: Problems, file: Path, known: Registry[Any]
) -> LoadedScene:
    name = source.data["scene"]
    if not isinstance(name, str) or name not in known:
        names = ", ".join(known.names())
        problems.add(("scene",), f"got {show(name)}; allowed: {names}{near(name, known.names())}")
        problems.stop_if_any()
    scene = known.get(name)
    one = scene() if isinstance(scene, type) else scene
    read = _validate(source, problems, _scene_model(name, scene))
    parameters = one.Params(**read.parameters.model_dump(exclude_unset=True))
    own = _choice(read.solver, getattr(one, "solver", "p2"))
    with problems.at("solver"):
        own.make()
    problems.stop_if_any()

    def build(solver: Choice = own) -> World:
        try:
            world: World = one.build(parameters, solver)
        except InputError as error:
            raise SceneFileError([f"{source.where(('parameters',))}: {error}"]) from error
        return world

    return LoadedScene(
        name=name,
        path=file,
        seconds=float(one.duration(parameters)) if read.run.seconds is None else read.run.seconds,
        record_every=read.run.record_every,
        record_fields=read.run.record_fields,
        parameters=parameters.model_dump(),
        params=parameters,
        solver=own,
        build=build,
        check=one.check,
        scene=one,
    )


def _load_world(source: Source, problems: Problems, file: Path) -> LoadedScene:
    read: WorldFile = _validate(source, problems, _world_model())
    folder = file.parent
    materials = _check_materials(read, problems)
    bodies: list[dict[str, Any]] = []
    taken: set[str] = set()
    drafts: dict[str, Any] = {}
    for i, body in enumerate(read.bodies):
        made: dict[str, Any] = {"position": body.position, "name": body.name}
        made["material"] = _find_material(body.material, materials, problems, "bodies", i)
        with problems.at("bodies", i, "shape"):
            made["shape"] = body.shape.make(folder)
        with problems.at("bodies", i, "motion"):
            made["motion"] = None if body.motion is None else body.motion.make()
        with problems.at("bodies", i, "rotation"):
            made["rotation"] = None if body.rotation is None else body.rotation.make()
        if body.name is not None and body.name in taken:
            problems.add(("bodies", i, "name"), f"got {body.name!r}; allowed: an unused name")
        taken.add(body.name or "")
        made |= body.free()
        if body.name is not None and "shape" in made:
            with problems.at("bodies", i):
                drafts[body.name] = mechanism.draft(made)
        bodies.append(made)
    layers = scene_terrain.check(read.terrain, bodies, problems, folder)
    machines: list[Any] = []
    joints: dict[str, Any] = {}
    for i, part in enumerate(read.urdf):
        stuff = _find_material(part.material, materials, problems, "urdf", i)
        with problems.at("urdf", i):
            machine = part.plan(folder, stuff)
            for name in sorted(taken & set(machine.drafts)):
                problems.add(("urdf", i), f"body {name!r} is there already; allowed: a new prefix")
            taken |= set(machine.drafts)
            drafts |= machine.drafts
            joints |= {machine.prefix + key: joint for key, joint in machine.joints.items()}
            machines.append(machine)
    mechanism.check_joints(read.joints, drafts, taken, problems, joints)
    names: set[str] = set()
    for i, drawn in enumerate(read.machines):
        name = drawn.label
        if name in names:
            problems.add(("machines", i, "name"), f"got {name!r}; allowed: an unused name")
        names.add(name)
        with problems.at("machines", i):
            drawn.check(folder)
    for key in ("grains", "clusters", "cloths", "emitters"):
        for i, part in enumerate(getattr(read, key)):
            _find_material(part.material, materials, problems, key, i)
    clusters: list[Any] = []
    for i, cluster in enumerate(read.clusters):
        with problems.at("clusters", i, "shape"):
            clusters.append(cluster.shape.make(folder))
    for i, cloth in enumerate(read.cloths):
        with problems.at("cloths", i):
            cloth.make("cloth")
    for i, emitter in enumerate(read.emitters):
        with problems.at("emitters", i):
            emitter.make("gravel", folder)
    for i, sink in enumerate(read.sinks):
        with problems.at("sinks", i):
            sink.make()
    own = _choice(read.solver, "p2")
    with problems.at("solver"):
        own.make()
    problems.stop_if_any()

    def build(solver: Choice = own) -> World:
        from berm.world.world import World

        world = World(
            gravity=read.gravity,
            dt=read.dt,
            solver=solver.make(),
            seed=read.seed,
            precision=read.precision,
        )
        found = Problems(source)
        for i, made in enumerate(bodies):
            with found.at("bodies", i):
                world.add_body(**made)
        for i, machine in enumerate(machines):
            with found.at("urdf", i):
                for made in machine.bodies:
                    world.add_body(**made)
        found.stop_if_any()
        known = {body.name: body for body in world.bodies}
        joined: dict[str, Any] = {}
        for i, machine in enumerate(machines):
            with found.at("urdf", i):
                new = machine.join(known, world.add_joint)
                joined |= {machine.prefix + key: joint for key, joint in new.items()}
        mechanism.make_joints(read.joints, known, found, world.add_joint, joined)
        for i, drawn in enumerate(read.machines):
            with found.at("machines", i):
                drawn.add(world, folder)
        if read.terrain is not None:
            scene_terrain.build(read.terrain, world, layers, found, folder)
        for i, pack in enumerate(read.grains):
            with found.at("grains", i):
                seed = int(np.random.SeedSequence((read.seed, 1, i)).generate_state(1)[0])
                position, radius, velocity = pack.make(seed)
                stuff = materials.get(pack.material, pack.material)
                world.add_grains(position, radius, velocity, stuff)
        for i, (cluster, made_of) in enumerate(zip(read.clusters, clusters, strict=True)):
            with found.at("clusters", i):
                seed = int(np.random.SeedSequence((read.seed, 2, i)).generate_state(1)[0])
                world.add_clusters(
                    made_of, cluster.places(made_of, seed), cluster.rotation, cluster.velocity,
                    cluster.spin, materials.get(cluster.material, cluster.material),
                )  # fmt: skip
        for i, cloth in enumerate(read.cloths):
            with found.at("cloths", i):
                world.add_cloth(cloth.make(materials.get(cloth.material, cloth.material)))
        for emitter in read.emitters:
            stuff = materials.get(emitter.material, emitter.material)
            world.add_emitter(emitter.make(stuff, folder))
        for sink in read.sinks:
            world.add_sink(sink.make())
        found.stop_if_any()
        return world

    return LoadedScene(
        name=read.name or file.stem,
        path=file,
        seconds=_SECONDS if read.run.seconds is None else read.run.seconds,
        record_every=read.run.record_every,
        record_fields=read.run.record_fields,
        parameters=read.model_dump(mode="json", exclude_unset=True),
        solver=own,
        build=build,
    )


def _check_materials(read: WorldFile, problems: Problems) -> dict[str, Material]:
    materials: dict[str, Material] = {}
    for i, part in enumerate(read.materials):
        if part.name in materials:
            problems.add(("materials", i, "name"), f"got {part.name!r}; allowed: an unused name")
        with problems.at("materials", i):
            materials[part.name] = part.make()
    return materials


def _find_material(
    name: str, own: Mapping[str, Material], problems: Problems, *path: str | int
) -> Material | str:
    known = [*own, *(preset for preset in MATERIALS.names() if preset not in own)]
    if name not in known:
        text = f"got {name!r}; allowed: {', '.join(known)}{near(name, known)}"
        problems.add((*path, "material"), text)
    return own.get(name, name)


# ---------------------------------------------------------------------- models from registries


def _known_scenes(scenes: Registry[Any] | None) -> Registry[Any]:
    if scenes is not None:
        return scenes
    # by name, because scenes stand above io: nothing here may depend on them
    found: Registry[Any] = importlib.import_module("berm.scenes").SCENES
    return found


def _literal(name: str) -> Any:
    return Literal[name]


def _solver_model(name: str) -> type[BaseModel]:
    """Return a model of a solver's or variant's options: types, defaults and descriptions."""
    from berm.solvers.options import declared

    kind, given = Choice(name).kind, Choice(name).given()
    hints, about = typing.get_type_hints(kind), declared(kind)
    options: dict[str, Any] = {}
    for one in dataclasses.fields(kind):  # type: ignore[arg-type]  # every solver is a dataclass
        text = f"{about[one.name].about} ({about[one.name].allowed})"
        default = given.get(one.name, one.default)
        options[one.name] = (hints[one.name], Field(default, description=text))
    title = f"Solver_{name}"
    return create_model(title, __base__=Part, name=(_literal(name), ...), **options)


def _solver_part() -> Any:
    models = tuple(_solver_model(name) for name in solver_names())
    return Annotated[Union[models], Field(discriminator="name")]  # noqa: UP007


def _world_model() -> type[WorldFile]:
    solver = (_solver_part() | None, None)
    return create_model("WorldFile", __base__=WorldFile, __doc__=WorldFile.__doc__, solver=solver)


def _scene_model(name: str, scene: Any) -> type[SceneFile]:
    """Return the model of a file that names this scene: its parameters are those of the scene."""
    strict = type(
        f"Parameters_{name}",
        (scene.Params,),
        {"model_config": ConfigDict(extra="forbid"), "__module__": __name__},
    )
    return create_model(
        f"Scene_{name}",
        __base__=SceneFile,
        __doc__=str(getattr(scene, "summary", "") or f"The scene {name}."),
        scene=(_literal(name), ...),
        parameters=(strict, Field(default_factory=strict)),
        solver=(_solver_part() | None, None),
    )


def _choice(part: Any, default: str) -> Choice:
    """Return the choice of a solver from its part of the file; without one, the default."""
    if part is None:
        return Choice(default)
    return Choice(part.name, part.model_dump(exclude={"name"}, exclude_unset=True))
