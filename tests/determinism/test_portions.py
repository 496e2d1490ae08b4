"""Kernels called for portions of their loops: the same bits, however the portions fall."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable

import numpy as np
import pytest

import berm
from berm.core.clusters import rod
from berm.solvers.dem.solver import DEM
from berm.solvers.portions import Portions, spoken

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX signals")


def dem_world() -> berm.World:
    """Single spheres, rods, a paddle that turns; lists go stale within a step."""
    world = berm.World(solver=DEM(normal="linear", rolling="spring", skin=0.05))
    material = berm.material("gravel", stiffness=2e4)
    grid = np.stack(np.meshgrid(*[np.arange(4.0)] * 3), axis=-1).reshape(-1, 3)
    world.add_grains(0.041 * grid + 0.03, 0.02, (0.3, 0.0, -1.0), material)
    world.add_clusters(rod(0.015, 3), [[0.05, 0.05, 0.25], [0.12, 0.1, 0.27]], material=material)
    world.add_body(berm.Plane(), material=material)
    world.add_body(
        berm.Box((0.3, 0.04, 0.1)), position=(0.08, 0.08, 0.4), motion=berm.Spin((0, 0, 1), 9.0),
        material=material,
    )  # fmt: skip
    return world


def heap(solver: object, cloth: bool = False) -> berm.World:
    world = berm.World(solver=solver)
    world.add_body(berm.Plane(), material="gravel")
    grid = np.stack(np.meshgrid(*[np.arange(4.0)] * 3), axis=-1).reshape(-1, 3)
    world.add_grains(0.0399 * grid + 0.001 * grid[:, ::-1] + 0.02, 0.02, (0.1, 0.0, -0.5))
    if cloth:
        sheet = berm.Cloth.grid((4, 4), (0.12, 0.12), (0.06, 0.06, 0.19), mass=0.05)
        world.add_cloth(sheet)
    return world


def knocked() -> berm.World:
    """A fast grain knocks others off the way that their list covers, in the midst of a step."""
    world = heap(berm.P2(iterations=3, substeps=20))
    world.add_grains([[-0.1, 0.05, 0.05]], 0.02, (30.0, 1.0, 0.0), berm.material("steel"))
    return world


def with_bodies(solver: object) -> berm.World:
    """A heap that a paddle on a hinge is driven through, a box on top, and a plate that moves."""
    world = heap(solver)
    paddle = world.add_body(
        berm.Box((0.02, 0.12, 0.1)), position=(-0.01, 0.06, 0.06), dynamic=True, density=900.0,
        name="paddle",
    )  # fmt: skip
    world.add_joint(
        berm.Hinge(paddle, None, (-0.01, 0.06, 0.16), axis=(0.0, 1.0, 0.0), motor=(-3.0, 20.0))
    )
    world.add_body(
        berm.Box((0.06, 0.06, 0.04)), position=(0.06, 0.06, 0.2), dynamic=True, density=500.0
    )
    world.add_body(
        berm.Box((0.02, 0.2, 0.2)), position=(0.2, 0.06, 0.1), motion=berm.Linear((-0.3, 0.0, 0.0))
    )
    return world


WORLDS: dict[str, Callable[[], berm.World]] = {
    "dem": dem_world,
    "p2 sweep": lambda: heap(berm.P2(iterations=4, substeps=10)),
    "p2 mass": lambda: heap(berm.P2(averaging="mass", iterations=4, substeps=10, acceleration=0.5)),
    "p2 count": lambda: heap(berm.P2.published(iterations=10, substeps=4)),
    "p2 serial": lambda: heap(berm.P2(averaging="serial", iterations=10, substeps=4)),
    "p2 off its way": knocked,
    "p2 bodies": lambda: with_bodies(berm.P2(iterations=2, substeps=40)),
    "vts gs": lambda: heap(berm.VTS(iterations=40)),
    "vts ij cloth": lambda: heap(berm.VTS(iterations=40, iteration="ij"), cloth=True),
    "sp gs cloth": lambda: heap(berm.SP(iterations=40, delay=15), cloth=True),
    "vts cr": lambda: heap(berm.VTS(iterations=40, iteration="cr")),
}


def advance(world: berm.World, steps: int = 3) -> list[bytes]:
    prints = []
    for _ in range(steps):
        world.step()
        order = np.argsort(world.grains.tags)
        felt = [np.concatenate([body.force, body.torque]) for body in world.bodies]
        moved = [cloth.position for cloth in world.cloths]
        parts = [world.grains.position[order], world.grains.velocity[order], *felt, *moved]
        prints.append(b"".join(np.ascontiguousarray(a).tobytes() for a in parts))
    return prints


@pytest.mark.parametrize("name", WORLDS)
def test_portions_change_no_bit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    sizes = {"one call": lambda left: left, "some": lambda left: min(left, 7 + len(taken) % 5)}
    sizes["one by one"] = lambda left: 1
    prints = {}
    for label, size in sizes.items():

        def take(self: Portions, left: int, size: Callable[[int], int] = size) -> int:
            taken.append(size(left))
            return taken[-1]

        monkeypatch.setattr(Portions, "take", take)
        prints[label] = advance(WORLDS[name]())
    assert len(taken) > 100
    assert prints["some"] == prints["one call"] == prints["one by one"]


def test_portions_take_a_fraction_of_a_second() -> None:
    size = Portions()

    def turn(left: int, cost: float) -> int:
        count = size.take(left)
        size.took(count, cost * count)
        return count

    assert turn(10**6, 1.0) == 16  # not known yet, and this one compiles
    assert turn(10**6, 1 / 1024) == 1
    assert turn(10**6, 1 / 1024) == 256
    assert turn(10**6, 0.5) == 256  # slower than was known, which is learnt from it
    assert turn(10**6, 0.5) == 1
    assert turn(10**6, 1e-9) == 1
    assert turn(500, 1e-9) == 500  # what is soon done is done in one call
    size.tell(1e4, lambda: "a step")
    size.cost, size._sure = 1e-3, True
    with pytest.warns(UserWarning, match=r"^a step: about 17 min on this machine; Ctrl-C stops it"):
        size.tell(1e6, lambda: "a step")
    size.tell(1e6, lambda: "a step")  # once is enough


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (12, "12 s"), (99.9, "100 s"), (100, "1.7 min"), (3600, "60 min"), (7200, "2.0 h"),
        (86400 * 3, "3.0 days"), (86400 * 365 * 1234.0, "1,234 years"),
    ],
)  # fmt: skip
def test_times_are_spoken(seconds: float, text: str) -> None:
    assert spoken(seconds) == text


def paste(integrator: str) -> berm.World:
    """Grains of half a gram with a strong damper: millions of small steps."""
    material = berm.material("gravel", stiffness=1e5, damping=20_000.0, restitution=None)
    world = berm.World(dt=2.0, solver=DEM(normal="linear", integrator=integrator))
    world.add_body(berm.Plane(), material=material)
    grid = np.stack(np.meshgrid(*[np.arange(5.0)] * 3), axis=-1).reshape(-1, 3)
    world.add_grains(0.00999 * grid + 0.005, 0.005, material=material)
    return world


LONG: dict[str, tuple[Callable[[], berm.World], str]] = {
    "dem": (lambda: paste("verlet"), r"a step of 2 s takes [\d,]{8,} small steps"),
    "dem rkf45": (lambda: paste("rkf45"), r"a step of 2 s takes [\d,]{5,} small steps"),
    "p2 iterations": (
        lambda: heap(berm.P2(iterations=100_000, substeps=1000)),
        "a step takes 1,000 substeps of 100,000 iterations",
    ),
    "p2 bodies": (
        lambda: with_bodies(berm.P2(substeps=100_000, iterations=50)),
        "a step takes 100,000 substeps of 50 iterations",
    ),
    "published substeps": (
        lambda: heap(berm.P2.published(iterations=1000, substeps=100_000)),
        "a step takes 100,000 substeps of 1,000 iterations",
    ),
    "vts iterations": (
        lambda: heap(berm.VTS(iterations=100_000, substeps=1000)),
        "a step takes 1,000 substeps of 100,000 iterations",
    ),
    "vts substeps": (
        lambda: heap(berm.VTS(substeps=100_000, iterations=500)),
        "a step takes 100,000 substeps of 500 iterations",
    ),
}


@pytest.mark.parametrize("name", LONG)
def test_long_steps_are_announced_and_hear_ctrl_c(name: str) -> None:
    """The warning names the number, and the interrupt comes through long before the step ends.

    In a tenth of a second on a machine of its own; by the processor's time here, as others run.
    """
    build, about = LONG[name]
    world, asked = build(), list[float]()

    def ask() -> None:
        asked.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    warmed = build()
    warmed.dt = 1e-4
    if not name.startswith("dem"):
        warmed.solver.iterations = warmed.solver.substeps = 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may be compiling for long
        warmed.step()
    timer = threading.Timer(8.0, ask)
    timer.start()
    with pytest.warns(UserWarning, match=about), pytest.raises(KeyboardInterrupt):
        world.step()
    assert time.process_time() - asked[0] < 5.0
    timer.join()
