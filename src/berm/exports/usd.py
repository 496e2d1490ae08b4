"""USD for Blender, Houdini and Omniverse: grains as a PointInstancer or Points, the rest as meshes.

    /World/grains             PointInstancer of unit spheres, one prototype a material; or Points
    /World/bodies/<name>      Mesh, with time samples of its place where it moves
    /World/ground             Mesh of a terrain, with time samples where it has changed
    /World/cloths/<name>      Mesh, with time samples of its points and normals
    /World/materials/<name>   UsdPreviewSurface in the colour that the page shows

Metres, z up, one time code a frame.  A PointInstancer is what USD means for this; Blender 4.5
and 5.0 play one, but 4.2 shows its first frame only.  Points move in all of them and carry force,
overlap and birth along as attributes for shading; their spheres are drawn, not meshed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from berm.core.errors import BermError, InputError
from berm.core.shapes import Sphere
from berm.exports.base import FORMATS
from berm.exports.poses import quaternions
from berm.exports.selection import CHOICE, BodyMesh, Selection
from berm.io.ground import GroundFrame
from berm.io.reading import BodyFrame, Frame
from berm.stage import ground as _ground
from berm.stage.colours import decode
from berm.stage.meshes import Triangles, sheet, triangles
from berm.stage.stage import StageCloth

Array = NDArray[Any]
GRAINS = ("instancer", "points")
ROUGHNESS = 0.85  # of a surface of soil
HELD = 1_000_000  # grains over all frames that are held in memory before they are saved
ROUND = 24  # edges around a grain
WHOLE = 1e-4  # a time code this near to a whole number is meant to be it


@FORMATS.register("usd")
@FORMATS.register("usda")
@FORMATS.register("usdc")
@dataclass(frozen=True)
class Usd:
    """A stage with time samples; grains: "instancer" or "points"."""

    grains: str = "instancer"

    def __post_init__(self) -> None:
        if self.grains not in GRAINS:
            raise InputError("export: grains", self.grains, ", ".join(GRAINS))

    def paths(self, out: Path, selection: Selection) -> list[Path]:
        """Return the one file."""
        return [out]

    def write(self, selection: Selection, paths: list[Path]) -> None:
        """Write the stage in one pass over the frames."""
        try:
            from pxr import Usd as usd
            from pxr import UsdGeom
        except ImportError as error:
            raise BermError(
                "USD needs usd-core, which is not installed: pip install 'berm[export]'"
            ) from error
        stage = usd.Stage.CreateNew(str(paths[0]))
        codes = _time_codes(selection)
        UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        stage.SetTimeCodesPerSecond(selection.rate)
        stage.SetFramesPerSecond(selection.rate)
        stage.SetStartTimeCode(codes[0])
        stage.SetEndTimeCode(codes[-1])
        stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/World").GetPrim())
        materials = _write_materials(stage, selection)
        _write_bodies(stage, selection, codes, materials)
        kind = _Instancer if self.grains == "instancer" else _Points
        grains = kind(stage, selection, materials)
        cloths = _Cloths(stage, selection, materials)
        ground = None if selection.ground is None else _Ground(stage, selection, materials)
        layer, rows = stage.GetRootLayer(), 0
        for code, frame in zip(codes, selection, strict=True):
            grains.add(code, frame)
            rows += len(frame) + cloths.add(code, frame)
            if ground is not None:
                rows += ground.add(code, frame)
            if rows > HELD and paths[0].suffix != ".usda":  # text is written anew by each save
                layer.Save()
                rows = 0
        layer.Save()


def _time_codes(selection: Selection) -> list[float]:
    """Return the time codes of the frames: their times in frames, whole where they are meant so."""
    codes = selection.times * selection.rate
    whole = np.round(codes)
    return [float(code) for code in np.where(np.abs(codes - whole) < WHOLE, whole, codes)]


def _prim_names(texts: Iterable[str]) -> list[str]:
    """Return a valid and different prim name for each text."""
    names: list[str] = []
    for text in texts:
        base = re.sub(r"\W", "_", text, flags=re.ASCII) or "_"
        base = f"_{base}" if base[0].isdigit() else base
        name, again = base, 1
        while name in names:
            again += 1
            name = f"{base}_{again}"
        names.append(name)
    return names


def _write_materials(stage: Any, selection: Selection) -> list[Any]:
    """Define a material for each of the recording's, and return them by number."""
    from pxr import Gf, Sdf, UsdGeom, UsdShade

    UsdGeom.Scope.Define(stage, "/World/materials")
    made = []
    known = selection.stage.materials
    for name, material in zip(_prim_names(m.name for m in known), known, strict=True):
        one = UsdShade.Material.Define(stage, f"/World/materials/{name}")
        shader = UsdShade.Shader.Define(stage, f"{one.GetPath()}/surface")
        shader.CreateIdAttr("UsdPreviewSurface")
        light = [float(part) for part in decode(np.array(material.colour) / 255.0)]
        shader.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).Set(Gf.Vec3f(*light))
        shader.CreateInput("roughness", Sdf.ValueTypeNames.Float).Set(ROUGHNESS)
        one.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
        one.GetPrim().SetDisplayName(material.name)
        made.append(one)
    return made


def _bind(prim: Any, material: Any) -> None:
    from pxr import UsdShade

    UsdShade.MaterialBindingAPI.Apply(prim).Bind(material)


# ---- grains ----------------------------------------------------------------------------------


class _Cloud:
    """What an instancer and points share: ids, velocities, extent, and further fields."""

    def __init__(self, prim: Any, selection: Selection) -> None:
        from pxr import Sdf, UsdGeom

        self.prim = prim
        self.with_velocity = "velocity" in selection.fields
        primvars = UsdGeom.PrimvarsAPI(prim)
        self.fields = {
            name: primvars.CreatePrimvar(name, Sdf.ValueTypeNames.FloatArray, "vertex")
            for name in CHOICE
            if name not in ("velocity", "rotation") and name in selection.fields
        }
        self.same: dict[str, tuple[Array, Any]] = {}

    def add(self, code: float, frame: Frame) -> None:
        """Add time samples of what all clouds have."""
        from pxr import Vt

        self.prim.CreateIdsAttr().Set(self.shared("ids", frame.tag, Vt.Int64Array), code)
        if self.with_velocity:
            self.prim.CreateVelocitiesAttr().Set(Vt.Vec3fArray.FromNumpy(frame.velocity), code)
        for name, primvar in self.fields.items():
            primvar.Set(self.shared(name, getattr(frame, name), Vt.FloatArray), code)
        radius = frame.radius[:, None]
        low, high = frame.position - radius, frame.position + radius
        box = [low.min(axis=0), high.max(axis=0)] if len(frame) else np.zeros((2, 3))
        extent = Vt.Vec3fArray.FromNumpy(np.array(box, np.float32))
        self.prim.CreateExtentAttr().Set(extent, code)

    def shared(self, name: str, values: Array, kind: Any) -> Any:
        """Return values as a USD array: the last one where they are the same, which is free."""
        known = self.same.get(name)
        if known is None or not np.array_equal(known[0], values):
            known = self.same[name] = (values, kind.FromNumpy(np.ascontiguousarray(values)))
        return known[1]


class _Instancer(_Cloud):
    """A PointInstancer: each grain is its material's unit sphere, scaled by its radius."""

    def __init__(self, stage: Any, selection: Selection, materials: list[Any]) -> None:
        from pxr import UsdGeom

        super().__init__(UsdGeom.PointInstancer.Define(stage, "/World/grains"), selection)
        # a mesh, because Blender drops the material of a Sphere
        ball = triangles(Sphere(1.0), around=ROUND)
        targets: list[Any] = []
        for material in materials:
            path = f"/World/grains/prototypes/{material.GetPath().name}"
            sphere = _write_mesh(stage, path, ball)
            _colour(sphere, selection, len(targets))
            _bind(sphere.GetPrim(), material)
            targets.append(sphere.GetPath())
        self.prim.CreatePrototypesRel().SetTargets(targets)

    def add(self, code: float, frame: Frame) -> None:
        """Add a time sample."""
        from pxr import Vt

        super().add(code, frame)
        self.prim.CreatePositionsAttr().Set(Vt.Vec3fArray.FromNumpy(frame.position), code)
        scales = self.shared("scales", np.repeat(frame.radius[:, None], 3, axis=1), Vt.Vec3fArray)
        self.prim.CreateScalesAttr().Set(scales, code)
        which = self.shared("material", frame.material, Vt.IntArray)
        self.prim.CreateProtoIndicesAttr().Set(which, code)
        if frame.rotation is not None:
            # USD keeps the real part last in memory
            turned = np.roll(frame.rotation, -1, axis=1).astype(np.float16)
            self.prim.CreateOrientationsAttr().Set(Vt.QuathArray.FromNumpy(turned), code)


class _Points(_Cloud):
    """Points with widths; colour and material go along as primvars."""

    def __init__(self, stage: Any, selection: Selection, materials: list[Any]) -> None:
        from pxr import Sdf, UsdGeom

        super().__init__(UsdGeom.Points.Define(stage, "/World/grains"), selection)
        primvars = UsdGeom.PrimvarsAPI(self.prim)
        self.material = primvars.CreatePrimvar("material", Sdf.ValueTypeNames.IntArray, "vertex")
        self.colour = self.prim.CreateDisplayColorPrimvar("vertex")
        self.prim.SetWidthsInterpolation("vertex")
        bytes_ = np.array([m.colour for m in selection.stage.materials], float).reshape(-1, 3)
        self.colours = decode(bytes_ / 255.0).astype(np.float32)

    def add(self, code: float, frame: Frame) -> None:
        """Add a time sample."""
        from pxr import Vt

        super().add(code, frame)
        self.prim.CreatePointsAttr().Set(Vt.Vec3fArray.FromNumpy(frame.position), code)
        self.prim.CreateWidthsAttr().Set(
            self.shared("widths", 2.0 * frame.radius, Vt.FloatArray), code
        )
        self.material.Set(self.shared("material", frame.material, Vt.IntArray), code)
        self.colour.Set(self.shared("colour", self.colours[frame.material], Vt.Vec3fArray), code)


def _colour(shape: Any, selection: Selection, material: int) -> None:
    """Give a shape the plain colour of a material, for viewers that do not shade."""
    colour = np.array(selection.stage.materials[material].colour) / 255.0
    shape.CreateDisplayColorAttr([tuple(float(part) for part in decode(colour))])


# ---- bodies ----------------------------------------------------------------------------------


def _write_bodies(stage: Any, selection: Selection, codes: list[float], materials: Any) -> None:
    from pxr import UsdGeom

    if not selection.bodies:
        return
    UsdGeom.Scope.Define(stage, "/World/bodies")
    poses = [selection.recording.body_frames(k) for k in selection.frames]
    names = _prim_names(body.name for body in selection.bodies)
    for name, body in zip(names, selection.bodies, strict=True):
        mesh = _write_mesh(stage, f"/World/bodies/{name}", body.surface)
        _dress(mesh, body, selection, materials)
        there = [(c, frame[body.name]) for c, frame in zip(codes, poses, strict=True)
                 if body.name in frame]  # fmt: skip
        _place(mesh, body, there)
        if len(there) < len(codes):
            seen = mesh.CreateVisibilityAttr()
            for code, frame in zip(codes, poses, strict=True):
                seen.Set("inherited" if body.name in frame else "invisible", code)


def _write_mesh(stage: Any, path: str, surface: Triangles) -> Any:
    from pxr import UsdGeom, Vt

    mesh = UsdGeom.Mesh.Define(stage, path)
    _set_points(mesh, surface)
    mesh.SetNormalsInterpolation("vertex")
    mesh.CreateFaceVertexCountsAttr(Vt.IntArray(len(surface.faces), 3))
    corners = np.ascontiguousarray(surface.faces.ravel().astype(np.int32))
    mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(corners))
    mesh.CreateSubdivisionSchemeAttr("none")
    mesh.CreateDoubleSidedAttr(surface.two_sided)
    return mesh


def _set_points(mesh: Any, surface: Triangles, *code: float) -> None:
    """Give a mesh its vertices, normals and extent, for ever or at a time code."""
    from pxr import Vt

    box = np.array([surface.vertices.min(axis=0), surface.vertices.max(axis=0)], np.float32)
    for attribute, values in (
        (mesh.CreatePointsAttr(), surface.vertices),
        (mesh.CreateNormalsAttr(), surface.normals),
        (mesh.CreateExtentAttr(), box),
    ):
        attribute.Set(Vt.Vec3fArray.FromNumpy(values), *code)


def _dress(mesh: Any, thing: BodyMesh | StageCloth, selection: Selection, materials: Any) -> None:
    """Give the mesh of a body or a cloth its name, colour and material."""
    mesh.GetPrim().SetDisplayName(thing.name)
    _colour(mesh, selection, thing.material)
    _bind(mesh.GetPrim(), materials[thing.material])


def _place(mesh: Any, body: BodyMesh, poses: list[tuple[float, BodyFrame]]) -> None:
    """Put a mesh where its body is: once, or at each time code."""
    from pxr import Gf, UsdGeom

    double = UsdGeom.XformOp.PrecisionDouble
    move, turn = mesh.AddTranslateOp(double), mesh.AddOrientOp(double)
    turns = quaternions(np.array([pose.rotation for _, pose in poses]))
    for (code, pose), (w, x, y, z) in zip(poses, turns.tolist(), strict=True):
        at = [] if body.fixed else [code]
        move.Set(Gf.Vec3d(*pose.position.tolist()), *at)
        turn.Set(Gf.Quatd(w, x, y, z), *at)
        if body.fixed:
            break


# ---- cloths ----------------------------------------------------------------------------------


class _Cloths:
    """Meshes whose points change with time; one that comes late is invisible until then."""

    def __init__(self, stage: Any, selection: Selection, materials: list[Any]) -> None:
        self.cloths = selection.cloths
        first, last = (selection.recording.cloth_frames(selection.frames[k]) for k in (0, -1))
        self.late = [cloth.name for cloth in self.cloths if cloth.name not in first]
        self.meshes = []
        for name, cloth in zip(_prim_names(c.name for c in self.cloths), self.cloths, strict=True):
            surface = sheet(last[cloth.name], cloth.faces)
            mesh = _write_mesh(stage, f"/World/cloths/{name}", surface)
            _dress(mesh, cloth, selection, materials)
            self.meshes.append(mesh)

    def add(self, code: float, frame: Frame) -> int:
        """Add time samples, and return the number of vertices."""
        count = 0
        for cloth, mesh in zip(self.cloths, self.meshes, strict=True):
            vertices = frame.cloths.get(cloth.name)
            if cloth.name in self.late:
                seen = "invisible" if vertices is None else "inherited"
                mesh.CreateVisibilityAttr().Set(seen, code)
            if vertices is not None:
                _set_points(mesh, sheet(vertices, cloth.faces), code)
                count += len(vertices)
        return count


# ---- ground ----------------------------------------------------------------------------------


class _Ground:
    """The mesh of a terrain, with points and colours where they have changed."""

    def __init__(self, stage: Any, selection: Selection, materials: list[Any]) -> None:
        assert selection.ground is not None
        self.land, self.materials = selection.ground, selection.stage.materials
        self.shown: GroundFrame | None = None
        first = selection.ground_of(selection.frames[0])
        surface = _ground.surface(self.land, first.heights)
        self.mesh = _write_mesh(stage, "/World/ground", surface)
        self.colour = self.mesh.CreateDisplayColorPrimvar("vertex")
        kind = selection.stage.bodies[self.land.body].material
        _bind(self.mesh.GetPrim(), materials[kind])

    def add(self, code: float, frame: Frame) -> int:
        """Add time samples of what has changed, and return the number of vertices."""
        from pxr import Vt

        now, known = frame.ground, self.shown
        assert now is not None
        count, self.shown = 0, now
        if known is None or not np.array_equal(now.heights, known.heights):
            surface = _ground.surface(self.land, now.heights)
            _set_points(self.mesh, surface, code)
            count = len(surface.vertices)
        if known is None or not (
            np.array_equal(now.soil, known.soil) and np.array_equal(now.loose, known.loose)
        ):
            shown = _ground.colours(self.land, self.materials, now.soil, now.loose)
            linear = decode(shown.reshape(-1, 3) / 255.0).astype(np.float32)
            self.colour.Set(Vt.Vec3fArray.FromNumpy(linear), code)
        return count
