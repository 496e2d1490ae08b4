"""Stage and Moment: all that is known of what is drawn, from a world or from a recording."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from berm.core import shapes as core_shapes
from berm.core.errors import InputError
from berm.io.recording import Recording
from berm.stage import bounds as _bounds
from berm.stage import ground as _ground
from berm.stage.colours import material_colour
from berm.stage.ground import GroundMoment, StageGround
from berm.stage.meshes import Triangles, triangles
from berm.world.world import World

Array = NDArray[Any]

PATCH = 12.0  # half-width of the ground, in sizes of what stands on it
SLAB = 1.0  # half-width of a tilted plane, the same
GLASS = "glass"  # the material that one sees through, whatever its friction
RIM = 0.03  # what is drawn of the walls of an open box above the grains, the same


@dataclass(frozen=True)
class StageMaterial:
    """A material as it is drawn; colour is sRGB bytes, density kg/m^3 of a grain, where known."""

    name: str
    colour: tuple[int, int, int]
    density: float | None = None


@dataclass(frozen=True, eq=False)
class StageBody:
    """What does not change of a body: mesh is an index into the stage's meshes."""

    id: int
    name: str
    material: int
    kind: str  # the shape's name in lower case
    mesh: int
    ground: bool  # a level plane: drawn with a grid that fades out
    glass: bool  # a smooth wall, or one of GLASS: drawn so that one sees through


@dataclass(frozen=True, eq=False)
class StageCloth:
    """What does not change of a cloth: faces (nf, 3) uint32 count in the vertices of a moment."""

    id: int
    name: str
    material: int
    faces: Array


@dataclass(frozen=True, eq=False)
class Stage:
    """What does not change from frame to frame (SI units).

    bounds (2, 3): low and high corner of what is worth looking at, strays left out; view: azimuth
    and elevation (degrees) from which it is best seen; version changes when bodies or materials do.
    """

    bodies: tuple[StageBody, ...]
    meshes: tuple[Triangles, ...]
    materials: tuple[StageMaterial, ...]
    gravity: Array
    bounds: Array
    view: tuple[float, float]
    dt: float
    scene: str
    version: int
    cloths: tuple[StageCloth, ...] = ()
    ground: StageGround | None = None  # the terrain, which is one of the bodies

    def check_names(self, names: Iterable[str]) -> None:
        """Refuse a name that no body and no cloth has."""
        known = [body.name for body in self.bodies] + [cloth.name for cloth in self.cloths]
        for name in names:
            if name not in known:
                raise InputError("unknown body or cloth", name, ", ".join(known) or "none")

    def body(self, name: str) -> StageBody:
        """Return the body called `name`, or say which there are."""
        for body in self.bodies:
            if body.name == name:
                return body
        raise InputError("unknown body", name, ", ".join(b.name for b in self.bodies) or "none")


@dataclass(frozen=True, eq=False)
class BodyMoment:
    """A body at one time: position (3,) m, rotation (3, 3) to the world, force (3,) N, torque.

    group: tag of the body that leads what it is merged into, 0: the ground, -1: it is by itself;
    None where nothing is ever merged.
    """

    id: int
    position: Array
    rotation: Array
    force: Array
    torque: Array
    group: int | None = None


@dataclass(frozen=True, eq=False)
class Moment:
    """One time: all grains (copies, so that the world may go on), poses of bodies, cloths."""

    time: float  # s
    step: int
    position: Array  # (n, 3) float32, m
    radius: Array  # (n,) float32, m
    material: Array  # (n,) int32, index into Stage.materials
    tag: Array  # (n,) int64
    bodies: tuple[BodyMoment, ...] = ()
    velocity: Array | None = None  # (n, 3) float32, m/s
    overlap: Array | None = None  # (n,) float32, m, the largest at each grain
    force: Array | None = None  # (n,) float32, N, sum of the contact forces' sizes
    age: Array | None = None  # (n,) float32, s since the grain was added
    cloths: tuple[Array, ...] = ()  # (nv, 3) float32, m: vertices, in the order of the stage's
    ground: GroundMoment | None = None  # of a terrain, whose body's mesh it replaces

    def __len__(self) -> int:
        return len(self.radius)

    @property
    def groups(self) -> tuple[int, ...] | None:
        """What each body is merged into; None where nothing is ever merged."""
        found = [body.group for body in self.bodies]
        known = tuple(group for group in found if group is not None)
        return known if known and len(known) == len(found) else None


# ---- stages ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Part:
    """A body as world and recording both know it."""

    name: str
    shape: core_shapes.Shape
    material: int
    position: Array
    rotation: Array
    driven: bool


def stage_of(source: World | Recording) -> Stage:
    """Return what does not change while `source` runs or plays."""
    if isinstance(source, World):
        return _stage_of_world(source)
    if isinstance(source, Recording):
        return _stage_of_recording(source)
    raise InputError("what is drawn", type(source).__name__, "a World or a Recording")


def _stage_of_world(world: World) -> Stage:
    parts = [
        _Part(b.name, b.shape, b.material, b.position, b.rotation, b.driven) for b in world.bodies
    ]
    cloud = _bounds.of_grains(*seen_grains(world))
    cloud = _bounds.join(cloud, _bounds.of_emitters(world))
    cloud = _bounds.join(cloud, _bounds.of_cloths(world))
    cloths = [(c.name, world.add_material(c.material), c.faces) for c in world.cloths]
    materials = [(m.name, m.friction_static, m.density) for m in world.materials]
    land: StageGround | None = None
    if world.terrain is not None:
        one, soils = world.terrain, tuple(world.terrain.zone.kinds.tolist())
        land = _place_ground(parts, one.name, one.cell, one.origin, soils, one.heights)
    return _stage(parts, cloths, materials, world.gravity, cloud, world.dt, "", land)


def _stage_of_recording(recording: Recording) -> Stage:
    first: Mapping[str, Any] = recording.frame(0).bodies if len(recording) else {}
    last: Mapping[str, Any] = recording.frame(-1).bodies if len(recording) else {}
    parts = []
    for body in recording.bodies:
        pose = first.get(body["name"]) or last.get(body["name"])
        position = pose.position if pose else np.zeros(3)
        rotation = pose.rotation if pose else np.eye(3)
        driven = body.get("motion", "fixed") != "fixed"
        shape = recording.shape(body["name"])
        parts.append(_Part(body["name"], shape, int(body["material"]), position, rotation, driven))
    cloths = [
        (cloth["name"], int(cloth["material"]), recording.cloth_faces(cloth["name"]))
        for cloth in recording.cloths
    ]
    cloud = _bounds.of_recording(recording)
    materials = [
        (str(m.get("name", "")), float(m.get("friction_static", 1.0)), m.get("density"))
        for m in recording.materials
    ]
    land, told = None, recording.terrain
    frame = recording.ground_frame(0) if len(recording) else None
    if told is not None and frame is not None:
        x, y = told["origin"]
        soils = tuple(told["materials"])
        land = _place_ground(parts, told["name"], told["cell"], (x, y), soils, frame.heights)
    return _stage(
        parts, cloths, materials, recording.gravity, cloud, recording.dt, recording.scene, land
    )


def seen_grains(world: World) -> tuple[Array, Array]:
    """Positions and radii of the grains that are drawn: not those of a terrain's shell."""
    grains, terrain = world.grains, world.terrain
    if terrain is None:
        return grains.position, grains.radius
    shown = ~terrain.shell(world)
    return grains.position[shown], grains.radius[shown]


def _place_ground(
    parts: list[_Part],
    name: str,
    cell: float,
    origin: tuple[float, float],
    soils: tuple[int, ...],
    heights: Array,
) -> StageGround | None:
    """Let a terrain's body be drawn as its ground, which is not where grains touch it."""
    for k, part in enumerate(parts):
        if part.name == name:
            field = core_shapes.HeightField(heights, cell, origin)
            parts[k] = replace(part, shape=field, material=soils[0])
            return StageGround(k, cell, origin, soils)
    return None


def _stage(
    parts: Sequence[_Part],
    cloths: Sequence[tuple[str, int, Array]],
    materials: Sequence[tuple[str, float, float | None]],
    gravity: Array,
    cloud: Array | None,
    dt: float,
    scene: str,
    land: StageGround | None = None,
) -> Stage:
    up = _up(gravity)
    clear = {k for k, (name, mu, _) in enumerate(materials) if mu == 0.0 or name == GLASS}
    solid = [p for p in parts if p.material not in clear or isinstance(p.shape, core_shapes.Plane)]
    box = _bounds.with_bodies(cloud, [(p.shape, p.position, p.rotation) for p in solid])
    centre, size = box.mean(axis=0), float(np.linalg.norm(box[1] - box[0]))
    bodies, meshes = [], []
    for k, part in enumerate(parts):
        plane = isinstance(part.shape, core_shapes.Plane)
        ground = plane and not part.driven and float(part.rotation[:, 2] @ up) > 0.999
        local = part.rotation.T @ (centre - part.position)
        # a plane that turns is drawn around its own origin
        middle = local[:2] if not part.driven else np.zeros(2)
        width = (PATCH if ground else SLAB) * size
        mesh = triangles(part.shape, width, middle)
        if isinstance(part.shape, core_shapes.Box) and part.shape.open_top:
            mesh = _lowered(mesh, part, box[1], RIM * size)
        meshes.append(mesh)
        glass = part.material in clear and not plane
        kind = type(part.shape).__name__.lower()
        bodies.append(StageBody(k, part.name, part.material, kind, k, ground, glass))
    shown = tuple(
        StageMaterial(name, material_colour(name, k), density)
        for k, (name, _, density) in enumerate(materials)
    )
    bare = [name for name, _, faces in cloths if not len(faces)]
    if bare:
        text = f"cloth {', '.join(map(repr, bare))}: no faces, so it is not drawn; links alone are"
        warnings.warn(
            f"{text} not seen. Give it faces, or put grains at its vertices.", stacklevel=3
        )
    sheets = tuple(
        StageCloth(k, name, material, np.ascontiguousarray(faces, np.uint32))
        for k, (name, material, faces) in enumerate(cloths)
    )
    known = repr([(b.name, b.kind, b.material) for b in bodies] + [m.name for m in shown])
    known += repr([(cloth.name, cloth.material) for cloth in sheets])
    for array in (*(mesh.vertices for mesh in meshes), *(cloth.faces for cloth in sheets)):
        known += str(zlib.crc32(array.tobytes()))
    return Stage(
        tuple(bodies), tuple(meshes), shown, np.asarray(gravity, float), box,
        _bounds.view_of(box), float(dt), scene, zlib.crc32(known.encode()), sheets, land,
    )  # fmt: skip


def _lowered(mesh: Triangles, part: _Part, top: Array, room: float) -> Triangles:
    """Return an open box whose walls, which go up without end, are drawn no higher than needed."""
    level = float((part.rotation.T @ (top - part.position))[2]) + room
    if part.rotation[2, 2] < 0.999 or level <= float(mesh.vertices[:, 2].min()) + room:
        return mesh
    vertices = mesh.vertices.copy()
    vertices[:, 2] = np.minimum(vertices[:, 2], np.float32(level))
    return replace(mesh, vertices=vertices)


def _up(gravity: Array) -> Array:
    length = float(np.linalg.norm(gravity))
    return -np.asarray(gravity, float) / length if length > 0 else np.array([0.0, 0.0, 1.0])


# ---- moments ---------------------------------------------------------------------------------


def moment_of(source: World | Recording, k: int = -1, fields: bool = True) -> Moment:
    """Return the present moment of a world, or frame `k` of a recording (default: the last).

    fields: whether to ask a world's solver for overlap and force, which costs a pass over contacts.
    """
    if isinstance(source, World):
        return _moment_of_world(source, fields)
    if isinstance(source, Recording):
        return _moment_of_frame(source, k)
    raise InputError("what is drawn", type(source).__name__, "a World or a Recording")


def _moment_of_world(world: World, fields: bool) -> Moment:
    grains, terrain = world.grains, world.terrain
    n = grains.n
    shown = slice(None) if terrain is None else ~terrain.shell(world)
    extra: Mapping[str, Any] = {}
    if fields and hasattr(world.solver, "grain_fields"):
        extra = world.solver.grain_fields(world)
    merges = getattr(world.solver, "merging", False) is True
    bodies = tuple(
        BodyMoment(
            k, np.array(b.position, float), np.array(b.rotation, float),
            np.array(b.force, float), np.array(b.torque, float),
            b.super_body if merges else None,
        )
        for k, b in enumerate(world.bodies)
    )  # fmt: skip
    return Moment(
        time=float(world.time),
        step=int(world.step_count),
        position=grains.position[shown].astype(np.float32),
        radius=grains.radius[shown].astype(np.float32),
        material=grains.material[:n][shown].copy(),
        tag=grains.tags[shown].copy(),
        bodies=bodies,
        velocity=grains.velocity[shown].astype(np.float32),
        overlap=_column(extra.get("overlap"), n, shown),
        force=_column(extra.get("force"), n, shown),
        age=(world.time - grains.born[:n][shown]).astype(np.float32),
        cloths=tuple(cloth.position.astype(np.float32) for cloth in world.cloths),
        ground=None if terrain is None else _ground.moment_of_terrain(terrain),
    )


def _moment_of_frame(recording: Recording, k: int) -> Moment:
    frame = recording.frame(k)
    ids = {body["name"]: index for index, body in enumerate(recording.bodies)}
    merges = recording.solver.get("merging", False) is True
    bodies = tuple(
        BodyMoment(
            ids[b.name], b.position, b.rotation, b.force, b.torque,
            int(b.super_body) if merges else None,
        )
        for b in frame.bodies.values()
    )  # fmt: skip
    return Moment(
        time=frame.time,
        step=frame.step,
        position=frame.position,
        radius=frame.radius,
        material=frame.material,
        tag=frame.tag,
        bodies=bodies,
        velocity=frame.velocity,
        overlap=frame.overlap,
        force=frame.force,
        age=(frame.time - frame.born).astype(np.float32),
        cloths=tuple(frame.cloths.values()),
        ground=None if frame.ground is None else _ground.moment_of_frame(frame.ground),
    )


def _column(given: Any, n: int, shown: Any) -> Array | None:
    """Return a quantity of each grain that is drawn, as a copy in float32."""
    return None if given is None else np.array(given, np.float32).reshape(-1)[:n][shown]
