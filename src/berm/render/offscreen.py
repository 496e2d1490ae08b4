"""The off-screen renderer: a stage, a moment and a camera in, an array of pixels out.

Passes of a picture: the sun's depth map; discs that tell which grains are hidden; colour and normal
of the grains; light on them; bodies and cloths; glass; smoothing. Equal input gives equal bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from berm.core.errors import InputError
from berm.render import context, culling, shading
from berm.render.camera import Camera, up_of
from berm.render.sun import Sun
from berm.stage import colours, ground
from berm.stage.meshes import Triangles, sheet
from berm.stage.stage import BodyMoment, Moment, Stage, StageBody, StageCloth

if TYPE_CHECKING:
    import moderngl

Array = NDArray[Any]
Drawn = list[tuple[StageBody, BodyMoment]]

SHADOW = 1024  # pixels of the sun's map, each way
MOST_PIXELS = 8192  # of a picture, each way
MATERIALS = 32  # colours in the shader
COARSE = 2  # pixels of the picture in one of the map that finds hidden grains
REACH = 6.0  # radius of the ground, in sizes of what stands on it
GRID = 0.06  # step of its grid, the same, before it is rounded
_GRAIN = np.dtype([
    ("place", "f4", 3), ("size", "f4"), ("material", "f4"), ("value", "f4"), ("scatter", "f4"),
])  # fmt: skip
_PLACES = "3f 1f 12x/i"
_ALL = "3f 1f 1f 1f 1f/i"


@dataclass(frozen=True, eq=False)
class _Mesh:
    """Triangles on the graphics card, as they are seen and as the sun sees them."""

    points: moderngl.Buffer
    faces: moderngl.Buffer
    seen: moderngl.VertexArray
    shadow: moderngl.VertexArray

    def release(self) -> None:
        """Give the memory back."""
        for part in (self.seen, self.shadow, self.points, self.faces):
            part.release()


Sheets = list[tuple[StageCloth, _Mesh]]


class Renderer:
    """Draws pictures of `size` (width, height in pixels) in a look ("dark" or "light").

    fine: four samples a pixel, for stills; else stairs are smoothed, in a third of the time.
    Close it when done, or use it in a `with`; it belongs to the thread that made it.
    """

    def __init__(
        self, size: tuple[int, int] = (1280, 720), look: str = "dark", fine: bool = False
    ) -> None:
        self.size, self.look = check_size(size), colours.look_of(look)
        self.fine = fine
        self.gl: moderngl.Context = context.create()
        gl = self.gl
        self._programs = {
            name: gl.program(
                vertex_shader="#version 330\n" + pair["vertex"],
                fragment_shader="#version 330\n" + pair["fragment"],
            )
            for name, pair in shading.programs().items()
            if name != "grain"
        }
        self._pixels = tuple((2 if fine else 1) * edge for edge in self.size)
        self._make_targets(self._pixels)
        self._ramp = gl.texture((colours.STEPS, 1), 3)
        corners = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]], "f4")
        self._quad = gl.buffer(corners.tobytes())
        self._all = gl.buffer(reserve=_GRAIN.itemsize * 1024, dynamic=True)
        self._seen = gl.buffer(reserve=_GRAIN.itemsize * 1024, dynamic=True)
        self._meshes: dict[int, _Mesh] = {}  # by body
        self._stage: Stage | None = None
        self._ground: ground.GroundMoment | None = None
        self._by_group = False  # whether bodies are coloured by what they are merged into
        self._uniforms: dict[str, list[Any]] = {}
        for program in self._programs.values():
            for name in program:
                if hasattr(program[name], "value") and hasattr(program[name], "write"):
                    self._uniforms.setdefault(name, []).append(program[name])

    def _make_targets(self, size: Any) -> None:
        gl = self.gl
        width, height = size
        self._colour = gl.texture(size, 4)
        self._depth = gl.depth_texture(size)
        self._depth.compare_func = ""
        self._kept = [gl.texture(size, 4), gl.texture(size, 4, dtype="f2")]
        self._target = gl.framebuffer([self._colour], self._depth)
        self._fill_target = gl.framebuffer(self._kept, self._depth)
        self._kept_target = gl.framebuffer(self._kept)
        self._light_target = gl.framebuffer([self._colour])
        self._last = gl.texture(size, 4)
        self._last_target = gl.framebuffer([self._last])
        self._shadow = gl.depth_texture((SHADOW, SHADOW))
        self._shadow.compare_func = "<="
        self._shadow.filter = (gl.LINEAR, gl.LINEAR)
        self._shadow.repeat_x = self._shadow.repeat_y = False
        self._sun_target = gl.framebuffer(depth_attachment=self._shadow)
        self._front = gl.depth_texture((max(1, width // COARSE), max(1, height // COARSE)))
        self._front_target = gl.framebuffer(depth_attachment=self._front)

    # ---- life --------------------------------------------------------------------------------

    def close(self) -> None:
        """Give the context back."""
        self.gl.release()

    def __enter__(self) -> Renderer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # ---- a picture ---------------------------------------------------------------------------

    def draw(
        self,
        stage: Stage,
        moment: Moment,
        camera: Camera,
        colour: str = "material",
        value_range: tuple[float, float] | None = None,
        hide: tuple[str, ...] = (),
        cull: bool = True,
    ) -> Array:
        """Return the picture (height, width, 3) uint8 sRGB, first row on top.

        value_range: low and high of the colour scale in the mode's unit (default: of this moment).
        hide: names of bodies and cloths that are not drawn. cull: leave out hidden grains, which
        changes no pixel.
        """
        stage.check_names(hide)
        if stage is not self._stage:
            self._load(stage)
        self._lay_ground(stage, moment)
        values = colours.values(moment, colour)
        rows = _grain_rows(moment, values)
        self._all = self._send(rows, self._all)
        self._set_scene(stage, camera)
        self._set_colours(stage, colour, value_range or colours.nice_range(values, colour))
        self._by_group = colour == "merged"
        poses = {pose.id: pose for pose in moment.bodies}
        drawn = [(body, poses[body.id]) for body in stage.bodies
                 if body.id in poses and body.name not in hide]  # fmt: skip
        sheets = self._make_sheets(stage, moment, hide)
        self._draw_shadows(stage, drawn, sheets, len(rows))
        grains = self._all
        if cull and len(rows):
            rows = rows[self._find_visible(rows, camera)]
            grains = self._seen = self._send(rows, self._seen)
        self._draw_scene(stage, drawn, sheets, grains, len(rows))
        for _, mesh in sheets:
            mesh.release()
        return self._read()

    def _lay_ground(self, stage: Stage, moment: Moment) -> None:
        """Send the ground of a terrain, unless it is that of the picture before."""
        land, now = stage.ground, moment.ground
        if land is None or now is None or now is self._ground:
            return
        own = stage.materials[stage.bodies[land.body].material].colour
        shown = ground.colours(land, stage.materials, now.soil, now.loose).reshape(-1, 3)
        fade = (np.array(own) - shown.astype(float)) / 255.0
        self._meshes[land.body].release()
        mesh, node = ground.block(land, now.heights)
        self._meshes[land.body] = self._make_mesh(mesh, "body", fade[node])
        self._ground = now

    def _load(self, stage: Stage) -> None:
        """Send the stage's triangles."""
        for old in self._meshes.values():
            old.release()
        self._meshes = {
            body.id: self._make_mesh(stage.meshes[body.mesh], "ground" if body.ground else "body")
            for body in stage.bodies
        }
        self._stage, self._ground = stage, None

    def _make_sheets(self, stage: Stage, moment: Moment, hide: tuple[str, ...]) -> Sheets:
        """Send the triangles of the cloths, which are others in every moment."""
        return [
            (cloth, self._make_mesh(sheet(vertices, cloth.faces), "body"))
            for cloth, vertices in zip(stage.cloths, moment.cloths, strict=False)
            if len(cloth.faces) and cloth.name not in hide
        ]

    def _make_mesh(self, mesh: Triangles, program: str, fade: Array | None = None) -> _Mesh:
        """Send triangles; fade (nv, 3): sRGB (0 to 1) that vertices lack of the body's colour."""
        gl, programs = self.gl, self._programs
        columns = [mesh.vertices, mesh.normals, *(() if fade is None else (fade,))]
        points = gl.buffer(np.hstack(columns).astype("f4").tobytes())
        faces = gl.buffer(mesh.faces.astype("u4").tobytes())
        names = ("position", "normal", "fade")[: len(columns)]
        seen = [(points, " ".join(["3f"] * len(columns)), *names)]
        return _Mesh(
            points,
            faces,
            gl.vertex_array(programs[program], seen, faces),
            gl.vertex_array(
                programs["body_shadow"],
                [(points, f"3f {12 * len(columns) - 12}x", "position")],
                faces,
            ),
        )

    def _send(self, rows: Array, buffer: moderngl.Buffer) -> moderngl.Buffer:
        data = rows.tobytes()
        if len(data) > buffer.size:
            buffer.release()
            buffer = self.gl.buffer(reserve=2 * len(data), dynamic=True)
        if data:
            buffer.write(data)
        return buffer

    # ---- uniforms ----------------------------------------------------------------------------

    def _set(self, **values: Any) -> None:
        """Set uniforms in every program that has them."""
        for name, value in values.items():
            for uniform in self._uniforms.get(name, ()):
                if isinstance(value, int | float):
                    uniform.value = value
                else:
                    uniform.write(np.ascontiguousarray(value, "f4").tobytes())

    def _set_scene(self, stage: Stage, camera: Camera) -> None:
        look, (width, height) = self.look, self._pixels
        projection = camera.projection(width / height)
        sun = Sun(stage, SHADOW)
        size = float(np.linalg.norm(stage.bounds[1] - stage.bounds[0]))
        self._set(
            viewMatrix=camera.view.T,
            projectionMatrix=projection.T,
            cameraPosition=camera.eye,
            pixelAngle=camera.pixel_angle(height),
            pixelToWorld=np.linalg.inv(projection @ camera.view).T,
            viewport=(width, height),
            origin=np.zeros(3),
            extent=np.ones(3),
            radiusRange=(0.0, 1.0),
            up=up_of(stage),
            sunColour=look.sun,
            skyColour=look.sky,
            earthColour=look.earth,
            backdropTop=look.top,
            backdropBottom=look.bottom,
            lineColour=look.line,
            middle=stage.bounds.mean(axis=0),
            reach=REACH * size,
            gridStep=grid_step(stage),
            sunDirection=sun.direction,
            sunRight=sun.right,
            sunAbove=sun.above,
            shadowView=sun.clip.T,
            shadowMatrix=sun.map.T,
            shadowTexel=1.0 / SHADOW,
            lift=2.0 * sun.texel,
        )

    def _set_colours(self, stage: Stage, colour: str, value_range: tuple[float, float]) -> None:
        mode = colours.mode_of(colour)
        if mode.ramp is not None:
            self._ramp.write(colours.ramps()[mode.ramp].tobytes())
        table = np.zeros((MATERIALS, 3))
        for k, material in enumerate(stage.materials[:MATERIALS]):
            table[k] = np.array(material.colour) / 255.0
        self._set(
            colourBy=int(mode.ramp is not None), valueRange=value_range, materialColours=table,
            ramp=0, shadowMap=1, colourMap=2, normalMap=3, depthMap=4, picture=5,
        )  # fmt: skip

    # ---- passes ------------------------------------------------------------------------------

    def _draw_grains(
        self, program: str, grains: moderngl.Buffer, count: int, names: tuple[str, ...]
    ) -> None:
        if count:
            layout = _ALL if len(names) > 2 else _PLACES
            quads = self.gl.vertex_array(
                self._programs[program],
                [(self._quad, "2f", "corner"), (grains, layout, *names)],
            )
            quads.render(self.gl.TRIANGLE_STRIP, vertices=4, instances=count)
            quads.release()

    def _draw_screen(self, program: str) -> None:
        screen = self.gl.vertex_array(self._programs[program], [(self._quad, "2f", "corner")])
        screen.render(self.gl.TRIANGLE_STRIP, vertices=4)
        screen.release()

    def _draw_shadows(self, stage: Stage, drawn: Drawn, sheets: Sheets, count: int) -> None:
        self._sun_target.use()
        self._sun_target.clear(depth=1.0)
        self.gl.enable_only(self.gl.DEPTH_TEST)
        for body, pose in drawn:
            # what one looks into or through lets the light in as well
            if not (body.ground or body.glass or stage.meshes[body.mesh].container):
                self._set(modelMatrix=model_matrix(pose).T)
                self._meshes[body.id].shadow.render()
        self._set(modelMatrix=np.eye(4))
        for _, mesh in sheets:
            mesh.shadow.render()
        self._draw_grains("grain_shadow", self._all, count, ("place", "size"))

    def _find_visible(self, rows: Array, camera: Camera) -> Array:
        self._front_target.use()
        self._front_target.clear(depth=1.0)
        self.gl.enable_only(self.gl.DEPTH_TEST)
        width, height = self._front.size
        self._set(pixelAngle=camera.pixel_angle(height))
        self._draw_grains("occluder", self._all, len(rows), ("place", "size"))
        self._set(pixelAngle=camera.pixel_angle(self._pixels[1]))
        depth = np.frombuffer(self._front.read(alignment=1), "f4").reshape(height, width)
        front = culling.to_distance(depth, camera)
        return culling.visible(rows["place"], rows["size"], camera, front)

    def _draw_scene(
        self, stage: Stage, drawn: Drawn, sheets: Sheets, grains: moderngl.Buffer, count: int
    ) -> None:
        gl = self.gl
        for place, texture in enumerate((self._ramp, self._shadow, *self._kept, self._depth)):
            texture.use(place)
        self._target.clear(depth=1.0)
        self._kept_target.clear()
        # grains first: what they hide of the ground is then never shaded
        self._fill_target.use()  # after the clears, which leave their own depth mask behind
        gl.enable_only(gl.DEPTH_TEST)
        self._draw_grains("grain_fill", grains, count, _GRAIN.names or ())
        self._light_target.use()
        gl.enable_only(gl.NOTHING)
        self._draw_screen("backdrop")
        if count:
            self._draw_screen("grain_light")
        self._target.use()
        gl.enable_only(gl.DEPTH_TEST)
        for body, pose in drawn:
            if not body.glass:
                self._draw_body(stage, body, pose)
        for cloth, mesh in sheets:
            self._set(modelMatrix=np.eye(4), glass=0.0, bodyColour=_colour(stage, cloth.material))
            mesh.seen.render()
        gl.enable_only(gl.DEPTH_TEST | gl.BLEND)
        self._target.depth_mask = False
        for body, pose in drawn:
            if body.glass:
                self._draw_body(stage, body, pose)
        self._target.depth_mask = True

    def _draw_body(self, stage: Stage, body: StageBody, pose: BodyMoment) -> None:
        gl = self.gl
        if stage.meshes[body.mesh].container:
            gl.enable(gl.CULL_FACE)
        colour = self.look.ground if body.ground else _colour(stage, body.material)
        told = colours.group_colour(pose.group) if self._by_group else None
        if told is not None and not body.ground:
            colour = _share(told)
        self._set(modelMatrix=model_matrix(pose).T, glass=float(body.glass), bodyColour=colour)
        self._meshes[body.id].seen.render()
        gl.disable(gl.CULL_FACE)

    def _read(self) -> Array:
        width, height = self.size
        if self.fine:
            raw = np.frombuffer(self._target.read(components=3, alignment=1), np.uint8)
            samples = raw.reshape(height, 2, width, 2, 3)[::-1]
            return np.asarray((samples.sum(axis=(1, 3), dtype=np.uint16) + 2) // 4, np.uint8)
        self.gl.enable_only(self.gl.NOTHING)
        self._colour.use(5)
        self.gl.copy_framebuffer(self._last_target, self._light_target)
        self._last_target.use()
        self._draw_screen("smooth")
        raw = np.frombuffer(self._last_target.read(components=3, alignment=1), np.uint8)
        return np.ascontiguousarray(raw.reshape(height, width, 3)[::-1])


def _colour(stage: Stage, material: int) -> tuple[float, float, float]:
    return _share(stage.materials[material].colour)


def _share(colour: tuple[int, int, int]) -> tuple[float, float, float]:
    red, green, blue = colour
    return red / 255.0, green / 255.0, blue / 255.0


def _grain_rows(moment: Moment, values: Array) -> Array:
    """Return what the shaders want to know of each grain; those that were lost are left out."""
    rows = np.zeros(len(moment), _GRAIN)
    rows["place"], rows["size"] = moment.position, moment.radius
    rows["material"], rows["value"] = moment.material, values
    rows["scatter"] = colours.scatter(moment.tag) / np.float32(255)
    return rows[np.isfinite(rows["place"]).all(axis=1)]


def grid_step(stage: Stage) -> float:
    """Return the distance between the lines on the ground, m."""
    return colours.nice(GRID * float(np.linalg.norm(stage.bounds[1] - stage.bounds[0])))


def model_matrix(pose: BodyMoment) -> Array:
    """Return body to world (4, 4)."""
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = pose.rotation, pose.position
    return out


def check_size(size: tuple[int, int]) -> tuple[int, int]:
    """Return a picture's width and height, or say what is allowed."""
    try:
        width, height = (int(edge) for edge in size)
    except (TypeError, ValueError):
        width = height = 0
    if not (16 <= width <= MOST_PIXELS and 16 <= height <= MOST_PIXELS):
        raise InputError("picture's size", size, f"width and height, 16 to {MOST_PIXELS} pixels")
    return width, height
