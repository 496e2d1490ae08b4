"""Scene files: what is right builds a world, what is wrong is named with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from pydantic import BaseModel, Field

from berm.core import motion, shapes
from berm.core.errors import InputError
from berm.core.registry import Registry
from berm.io import layout
from berm.io.positions import read_toml, read_yaml
from berm.io.scenefile import SceneFileError, json_schema, load_scene
from berm.io.schema_world import FrameField

SCENES: Registry[Any] = Registry("scene")


@SCENES.register("heap")
class Heap:
    """A stand-in with what a scene has."""

    name, summary = "heap", "Pours a heap."

    class Params(BaseModel):
        grains: int = Field(100, ge=1, description="how many")
        radius: float = Field(0.02, gt=0, description="m")

    def duration(self, params: Any) -> float:
        return params.grains / 10

    def build(self, params: Any, solver: Any) -> Any:
        from berm.world.world import World

        world = World(solver=solver.make())
        world.add_grains(np.arange(3.0 * params.grains).reshape(-1, 3), params.radius)
        return world

    def check(self, world: Any, history: Any) -> list[Any]:
        return ["checked"]


WORLD = """\
name: drum
gravity: [0, 0, -9.81]
dt: 1/120
precision: float64
seed: 3
solver: {name: p2, iterations: 2, memory: 1e-1}
materials:
  - {name: mud, preset: clay, friction: 0.3, adhesion: 1e3}
bodies:
  - name: floor
    shape: {kind: plane}
    rotation: {axis: [0, 1, 0], degrees: 90}
  - name: drum
    shape: {kind: cylinder, radius: 1, height: 5e-1, inside: true}
    material: mud
    position: [0, 0, 1]
    rotation: {euler: [90, 0, 0]}
    motion: {kind: spin, axis: [0, 1, 0], rpm: 60}
  - shape: {kind: box, size: [1, 2, 3], inside: yes, open_top: true}
    motion: {kind: linear, velocity: [1, 0, 0], stop: 2}
  - shape: {kind: cone, radius_bottom: 0, radius_top: 1, height: 1}
    motion: {kind: keyframes, times: [0, 1], positions: [[0, 0, 0], [0, 0, 1]], degrees: [0, 90]}
  - shape: {kind: capsule, radius: 0.1, height: 1}
    motion: {kind: fixed}
  - shape: {kind: sphere, radius: 0.1}
  - shape: {kind: height_field, heights: [[0, 0], [0, 1]], cell: 0.5}
  - shape: {kind: height_field, file: ground.csv, cell: 0.5}
grains:
  - {kind: explicit, positions: [[0, 0, 1], [0, 0, 2]], radius: 0.1, material: mud}
  - {kind: explicit, positions: [[1, 0, 1]], radii: [0.2], velocities: [[1, 2, 3]]}
emitters:
  - {rate: 10, position: [0, 0, 3], region: sphere, size: 0.3, radius: [0.01, 2e-2], total: 5}
  - {rate: 10, position: [0, 0, 3], region: box, size: [1, 1, 0.1], material: mud, stop: 2}
sinks:
  - {high: [null, null, -1]}
run: {seconds: 2, record_every: 0}
"""


def write(tmp_path: Path, text: str, name: str = "scene.yaml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def problems(tmp_path: Path, text: str, name: str = "scene.yaml") -> list[str]:
    with pytest.raises(SceneFileError) as caught:
        load_scene(write(tmp_path, text, name), SCENES).build()
    return [line.removeprefix(f"{tmp_path}/") for line in caught.value.problems]


def test_whole_world(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "ground.csv", [[0.0, 1.0, 2.0], [0.0, 0.0, 5.0]], delimiter=",")
    scene = load_scene(write(tmp_path, WORLD))
    assert (scene.name, scene.seconds, scene.record_every) == ("drum", 2.0, 0.0)
    world: Any = scene.build()
    assert (world.dt, world.seed, world.precision) == (1 / 120, 3, "float64")
    assert (world.solver.iterations, world.solver.memory) == (2, 0.1)
    floor, drum, box, cone, capsule, ball, ground, ground_file = world.bodies
    np.testing.assert_allclose(floor.rotation @ [0, 0, 1], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(drum.start_rotation @ [0, 0, 1], [0, -1, 0], atol=1e-12)
    assert drum.shape == shapes.Cylinder(1, 0.5, inside=True)
    assert drum.motion == motion.Spin((0, 1, 0), drum.motion.rate)
    assert drum.motion.rate == pytest.approx(2 * np.pi)
    assert world.materials[drum.material].name == "mud"
    assert world.materials[drum.material].friction_static == 0.3
    assert box.shape == shapes.Box((1, 2, 3), inside=True, open_top=True)
    assert box.motion == motion.Linear((1, 0, 0), 0, 2)
    np.testing.assert_allclose(cone.motion.pose(1)[1] @ [1, 0, 0], [0, 1, 0], atol=1e-12)
    assert not capsule.driven and ball.shape == shapes.Sphere(0.1)
    assert ground.shape.heights[1, 1] == 1
    assert ground_file.shape.heights.shape == (2, 3)
    np.testing.assert_allclose(world.grains.radius, [0.1, 0.1, 0.2])
    np.testing.assert_allclose(world.grains.velocity[2], [1, 2, 3])
    assert [e.total for e in world.emitters] == [5, None]
    assert world.sinks[0].high[2] == -1 and world.sinks[0].low[0] == -np.inf
    assert scene.check(world, []) == []
    assert scene.build().solver is not world.solver  # each world is its own


def test_packings(tmp_path: Path) -> None:
    text = """
seed: 4
grains:
  - {kind: lattice, low: [0, 0, 0], high: [1, 1, 0.5], radius: 0.05, jitter: 0.1}
  - {kind: random, low: [2, 0, 0], high: [3, 1, 1], count: 50, radius: [0.02, 0.06]}
"""
    scene = load_scene(write(tmp_path, text))
    first: Any = scene.build()
    second: Any = scene.build()
    np.testing.assert_array_equal(first.grains.position, second.grains.position)
    x, r = first.grains.position, first.grains.radius
    assert first.grains.n > 300
    left = x[:, 0] < 1.5
    assert np.sum(~left) == 50
    assert np.all(x[left] >= r[left, None] - 1e-6)
    assert np.all(x[left] <= np.array([1, 1, 0.5]) - r[left, None] + 1e-6)
    gaps = np.linalg.norm(x[:, None] - x[None], axis=2) - r[:, None] - r[None]
    np.fill_diagonal(gaps, 1)
    assert gaps.min() > -1e-6
    crowded = "grains:\n  - {kind: random, low: [0,0,0], high: [1,1,1], count: 999, radius: 0.2}\n"
    assert problems(tmp_path, crowded)[0].startswith("scene.yaml:2:5: grains[0]: ")
    upside = "grains:\n  - {kind: lattice, low: [0,0,0], high: [1,1,-1], radius: 0.2}\n"
    assert problems(tmp_path, upside)[0].startswith("scene.yaml:2:5: grains[0]: ")


def test_lattice_takes_the_lowest(tmp_path: Path) -> None:
    text = "grains:\n  - {kind: lattice, low: [0,0,0], high: [1,1,1], radius: 0.1, jitter: 0, %s}\n"
    few: Any = load_scene(write(tmp_path, text % "count: 30")).build()
    heights = np.sort(few.grains.position[:, 2])
    np.testing.assert_allclose(heights, np.repeat([0.1, 0.3], [25, 5]), atol=1e-6)
    close: Any = load_scene(write(tmp_path, text % "arrangement: hexagonal")).build()
    layers = np.unique(np.round(close.grains.position[:, 2], 4))
    np.testing.assert_allclose(np.diff(layers), 0.2 * np.sqrt(2 / 3), atol=2e-4)


def test_fields_to_record(tmp_path: Path) -> None:
    known = get_args(FrameField)
    assert known == layout.FIELDS
    assert load_scene(write(tmp_path, "gravity: [0, 0, -1]")).record_fields == (
        "velocity", "bodies", "cloths", "ground",
    )  # fmt: skip
    text = "run: {record_fields: [velocity, overlap, force]}"
    assert load_scene(write(tmp_path, text)).record_fields == ("velocity", "overlap", "force")
    wrong = problems(tmp_path, "run: {record_fields: [velocity, colour]}")
    assert wrong[0].startswith("scene.yaml:1:33: run.record_fields[1]: got 'colour'; allowed: pos")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "scene: heap\nparameters: {grains: 7, radius: 1e-2}\nrun: {seconds: 3}\n"),
        ("a.toml", 'scene = "heap"\nparameters.grains = 7\n[parameters]\n'),
        ("a.toml", 'scene = "heap"\n[parameters]\ngrains = 7\nradius = 1e-2\n[run]\nseconds = 3'),
    ],
)
def test_named_scene(tmp_path: Path, name: str, text: str) -> None:
    if text.endswith("[parameters]\n"):
        with pytest.raises(InputError, match=r"a\.toml:3:\d+: not valid TOML"):
            load_scene(write(tmp_path, text, name), SCENES)
        return
    scene = load_scene(write(tmp_path, text, name), SCENES)
    assert (scene.name, scene.seconds) == ("heap", 3.0)
    assert scene.parameters == {"grains": 7, "radius": 0.01}
    world = scene.build()
    assert world.grains.n == 7
    assert scene.check(world, []) == ["checked"]


def test_named_scene_defaults(tmp_path: Path) -> None:
    scene = load_scene(write(tmp_path, "scene: heap\n"), SCENES)
    assert scene.seconds == 10.0
    assert scene.params.radius == 0.02
    assert scene.build().grains.n == 100


def test_own_scenes_are_known(tmp_path: Path) -> None:
    scene = load_scene(write(tmp_path, "scene: pile\nparameters: {grains: 500, dt: 1e-2}\n"))
    assert scene.build().dt == 0.01
    with pytest.raises(SceneFileError, match=r"scene\.yaml:2:22: parameters\.grains: got 5;"):
        load_scene(write(tmp_path, "scene: pile\nparameters: {grains: 5}\n"))
    assert "Scene_pile" in json_schema()["$defs"]


def test_named_scene_problems(tmp_path: Path) -> None:
    assert problems(tmp_path, "scene: heep\n") == [
        "scene.yaml:1:8: scene: got 'heep'; allowed: heap (did you mean 'heap'?)"
    ]
    assert problems(tmp_path, "scene: heap\nparameters:\n  grain: 3\n  radius: -1\n") == [
        "scene.yaml:3:3: parameters.grain: unknown key; allowed: grains, radius "
        "(did you mean 'grains'?)",
        "scene.yaml:4:11: parameters.radius: got -1; allowed: a number above 0",
    ]
    assert problems(tmp_path, "scene: heap\nbodies: []\n")[0].startswith(
        "scene.yaml:2:1: bodies: unknown key; allowed: scene, parameters, solver, run"
    )


# file, text, line:column and what the message says
WRONG = [
    ("bodies:\n  - shape: {kind: boks}\n", "2:19: bodies[0].shape.kind: got 'boks'; allowed: pl"),
    ("bodies:\n  - shape: {kind: boks}\n", "(did you mean 'box'?)"),
    ("bodies:\n  - shape: {size: 3}\n", "2:12: bodies[0].shape: kind is missing; allowed: box"),
    ("bodies:\n  - name: x\n", "2:5: bodies[0].shape: is missing; allowed: a map with kind: box"),
    ("bodies:\n  - shape: {kind: sphere, radius: 0}\n", "2:35: bodies[0].shape.radius: got 0;"),
    ("bodies:\n  - shape: {kind: sphere, radius: 0}\n", "allowed: a number above 0"),
    ("bodies: 5\n", "1:9: bodies: got 5; allowed: a list"),
    ("gravity: [0, 0]\n", "1:10: gravity[2]: is missing; allowed: a number"),
    ("gravity: [0, 0, 1, 2]\n", "1:10: gravity: got [0, 0, 1, 2]; allowed: "),
    ("gravity: [0, 0, .inf]\n", "1:17: gravity[2]: got inf; allowed: a"),
    ("dt: true\n", "1:5: dt: got True; allowed: a number"),
    ("dt: 1/0\n", "1:5: dt: got '1/0'; allowed: a number"),
    ("dt: fast\n", "1:5: dt: got 'fast'; allowed: a number"),
    ("dt: -1e-3\n", "1:5: dt: got -0.001; allowed: a number above 0"),
    ("precision: float16\n", "1:12: precision: got 'float16'; allowed: float32, float64 (did you"),
    ("solver: p3\n", "1:9: solver"),
    ("solver: p3\n", "'p3'; allowed: dem, lacoursiere, nonsmooth, p2, pbd, "),
    ("solver: {name: p2, iterations: 1.5}\n", "1:32: solver.iterations: got 1.5; allowed: a whole"),
    ("solver: {name: p2, averaging: sum}\n", "1:9: solver: solver p2: averaging: got 'sum'"),
    ("materials:\n - {name: a, preset: clai}\n", "2:4: materials[0]: unknown material: got 'clai'"),
    ("materials:\n - {name: a, friction_kinetic: 9}\n", "allowed: at most friction_static"),
    ("materials: [{name: a}, {name: a}]\n", "1:31: materials[1].name: got 'a'; allowed: an unused"),
    ("grains: [{kind: explicit, positions: []}]\n", "allowed: either radius or radii"),
    (
        "grains:\n- {kind: explicit, positions: [[0, 0, 0]], radius: 1, material: grvel}\n",
        "2:65: grains[0].material: got 'grvel'; allowed: clay",
    ),
    ("bodies:\n- shape: {kind: mesh, file: no.stl}\n", "2:10: bodies[0].shape: mesh file: got"),
    (
        "bodies:\n- shape: {kind: plane}\n"
        "  motion: {kind: keyframes, times: [1, 0], positions: []}\n",
        "3:11: bodies[0].motion: keyframes: times",
    ),
    (
        "bodies:\n- shape: {kind: plane}\n  rotation: {axis: [0, 0, 1]}\n",
        "3:13: bodies[0].rotation: got {'axis': [0, 0, 1]}; allowed: either axis and degrees",
    ),
    ("emitters: [{rate: 1, position: [0, 0, 0], size: [1, 2, 3]}]\n", "1:12: emitters[0]: emitter"),
    ("sinks: [{low: [0, 0, 0], high: [1, 1, -1]}]\n", "1:9: sinks[0]: sink: low, high"),
    ("a: 1\n", "1:1: a: unknown key; allowed: name, gravity"),
    ("5\n", "1:1: got 5; allowed: a map"),
    ("", "1:1: got None; allowed: a map"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), WRONG)
def test_problems_are_named(tmp_path: Path, text: str, expected: str) -> None:
    found = problems(tmp_path, text)
    assert len(found) == 1, found
    assert expected in found[0]


def test_all_problems_at_once_in_order(tmp_path: Path) -> None:
    text = "dt: 0\nsede: 1\nbodies:\n  - shape: {kind: plane}\n    positon: [0, 0, 0]\n"
    found = problems(tmp_path, text)
    assert [line.split(": ")[0] for line in found] == [
        "scene.yaml:1:5",
        "scene.yaml:2:1",
        "scene.yaml:5:5",
    ]
    with pytest.raises(SceneFileError, match=r"^3 problems in the scene file:\n"):
        load_scene(tmp_path / "scene.yaml")


def test_toml_positions(tmp_path: Path) -> None:
    text = '''\
# comment = [
dt = 1e-3
name = """a
[table]
b = 3 \\""" """
gravity = [
  0, # zero ]
  0,
  "down",
]
solver.name = "p2"
solver.iteratons = 3
run = { seconds = -1, "record_every" = 0.1 }

[[bodies]]
shape = { kind = "box", size = [1, -2, 3] }
[[bodies]]
[bodies.shape]
kind = "sphere"
radios = 3
[[bodies]]
shape.kind = "plane"
'odd key' = 'x'
material = 5
'''
    found = problems(tmp_path, text, "scene.toml")
    assert [line.split(": ")[:2] for line in found] == [
        ["scene.toml:9:3", "gravity[2]"],
        ["scene.toml:12:1", "solver.iteratons"],
        ["scene.toml:13:19", "run.seconds"],
        ["scene.toml:16:36", "bodies[0].shape.size[1]"],
        ["scene.toml:18:1", "bodies[1].shape.radius"],
        ["scene.toml:20:1", "bodies[1].shape.radios"],
        ["scene.toml:23:1", "bodies[2].odd key"],
        ["scene.toml:24:12", "bodies[2].material"],
    ]


def test_yaml_and_toml_give_the_same_world(tmp_path: Path) -> None:
    toml = """
dt = 0.01
[[bodies]]
name = "floor"
shape = {kind = "plane"}
[[grains]]
kind = "explicit"
positions = [[0, 0, 1]]
radius = 0.1
"""
    yaml = """
dt: 1e-2
bodies: [{name: floor, shape: {kind: plane}}]
grains: [{kind: explicit, positions: [[0, 0, 1]], radius: 0.1}]
"""
    a = load_scene(write(tmp_path, toml, "a.toml"))
    b = load_scene(write(tmp_path, yaml, "b.yml"))
    assert a.parameters == b.parameters
    assert (a.name, b.name) == ("a", "b")


def test_broken_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"s\.yaml:2:\d+: not valid YAML"):
        load_scene(write(tmp_path, "a: [1,\nb: {", "s.yaml"))
    with pytest.raises(InputError, match=r"s\.yaml:3:1: key 'dt' is given twice .*line 1"):
        load_scene(write(tmp_path, "dt: 1\nseed: 1\ndt: 2\n", "s.yaml"))
    with pytest.raises(InputError, match=r"s\.toml:1:6: not valid TOML"):
        load_scene(write(tmp_path, "dt = = 3\n", "s.toml"))
    with pytest.raises(InputError, match=r"ending in \.yaml, \.yml, \.toml"):
        load_scene(write(tmp_path, "", "s.json"))
    with pytest.raises(InputError, match="readable text file"):
        load_scene(tmp_path / "none.yaml")
    deep = "[" * 3000 + "]" * 3000
    for name, text in (
        ("s.yaml", f"a: {deep}"),
        ("s.toml", f"a = {deep}"),
        ("s.yaml", "a: &x [*x]"),
    ):
        with pytest.raises(InputError, match=r"scene file.*within each other"):
            load_scene(write(tmp_path, text, name))
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="readable text file"):
        load_scene(tmp_path / "bytes.yaml")


@pytest.mark.parametrize("text", ["1e-3", "1E3", "-2.e+1", "+.5e2", "1.0", "3"])
def test_yaml_numbers(text: str) -> None:
    value = read_yaml(f"a: {text}\n", "x").data["a"]
    assert isinstance(value, int | float) and value == float(text)


def test_yaml_text_stays_text() -> None:
    assert read_yaml("a: e3\nb: 1e\nc: 'x'\n", "x").data == {"a": "e3", "b": "1e", "c": "x"}


def test_yaml_anchors() -> None:
    source = read_yaml("a: &x {b: 1}\nc: {<<: *x, d: 2}\n", "x")
    assert source.data["c"] == {"b": 1, "d": 2}
    assert source.place(("c", "d")) == (2, 16)


def test_toml_walker_agrees_with_tomllib() -> None:
    text = "a.b = 1\nc = [ {d = \"}\"}, {d = 2} ]\n[e]\nf = '''x''''\n[e.g]\nh = 1979-05-27\n"
    source = read_toml(text, "x")
    assert source.data["e"]["f"] == "x'"
    for path in (("a", "b"), ("c", 0, "d"), ("c", 1, "d"), ("e", "f"), ("e", "g", "h")):
        assert path in source.values, path
    assert source.place(("e", "g", "h")) == (6, 5)


def test_json_schema() -> None:
    schema = json_schema(SCENES)
    json.dumps(schema)
    text = json.dumps(schema["$defs"]["Scene_heap"])
    assert '"const": "heap"' in text
    parameters = schema["$defs"]["Parameters_heap"]
    assert parameters["properties"]["radius"]["exclusiveMinimum"] == 0
    assert parameters["additionalProperties"] is False
    assert "p2" in json.dumps(schema["$defs"]["WorldFile"]["properties"]["solver"])
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    data = {**read_yaml(WORLD, "x").data, "dt": 0.01}
    assert list(validator.iter_errors(data)) == []
    for good in ({"scene": "heap", "parameters": {"grains": 3}}, {"solver": "p2"}):
        assert validator.is_valid(good), good
    for bad in ({"scene": "heap", "parameters": {"grain": 3}}, {"scene": "x"}, {"solver": "p3"}):
        assert not validator.is_valid(bad), bad


CLUSTERS = """
dt: 0.01
solver: {name: dem, normal: linear, rolling: {law: spring, stiffness: 2}}
bodies: [{shape: {kind: plane}}, {shape: {kind: box, size: [0.1, 0.1, 0.1]}, name: crate,
          position: [0, 0, 0.3], dynamic: true}]
clusters:
  - {shape: {kind: tetrahedron, radius: 0.02}, low: [1, 0, 0], high: [2, 1, 1], count: 5}
  - {shape: {kind: rod, radius: 0.02, count: 4}, positions: [[0, 0, 0.7]], rotation: [1, 0, 0, 0]}
  - {shape: {kind: spheres, offsets: [[0, 0, 0], [0, 0, 0.1]], radii: [0.06, 0.05]},
     positions: [[0, 1, 0.7]], spin: [0, 0, 1]}
emitters: [{rate: 20, position: [0, 0, 2], cluster: {kind: cube, radius: 0.01}}]
"""


def test_compound_grains_and_dynamic_bodies_in_dem(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text(CLUSTERS)
    world = load_scene(path).build()
    assert world.precision == "float64"
    assert world.clumps.n == 8  # the crate is one of them
    assert world.clumps.body[0] == world.body("crate").tag
    assert [len(t.radii) for t in world.clumps.templates[1:]] == [4, 4, 2]
    assert world.emitters[0].cluster.name == "cube"
    assert world.solver.options()["rolling"] == {"law": "spring", "stiffness": 2}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("kind: rod, radius: 0.02, count: 4", "kind: rod, radius: 0.02, count: 0", "from 1"),
        ("kind: rod,", "kind: rode,", "did you mean 'rod'"),
        ("law: spring", "law: sprang", "unknown rolling law"),
        ("radii: [0.06, 0.05]", "radii: [0.06, 0.05, 0.1]", "clusters[2].shape"),
        ("positions: [[0, 0, 0.7]]", "count: 3", "either positions, or low, high and count"),
    ],
)
def test_wrong_compound_grains_are_named(tmp_path, old, new, told):
    path = tmp_path / "scene.yaml"
    path.write_text(CLUSTERS.replace(old, new))
    with pytest.raises(InputError) as error:
        load_scene(path)
    assert told in str(error.value)
