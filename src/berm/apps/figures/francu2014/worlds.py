"""The paper's test worlds and the small helpers that its figures share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from berm.core.cloth import Cloth
from berm.core.errors import SimulationError
from berm.core.materials import material
from berm.core.shapes import Box
from berm.solvers.vts.solver import VTS
from berm.solvers.vts.sp import SP
from berm.world.world import World

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = npt.NDArray[Any]
COLOURS = ("#3a6ea5", "#c8402f", "#5d8a4a", "#8a6bb0", "#c99a2e")
FRAME = 1.0 / 60.0


def printed(kind: str, a: float = 1.0, omega: float | None = None) -> dict[str, Any]:
    """Options of an iteration as the paper has it: no warm start, no bound on the steps."""
    if omega is None:
        omega = 1.0 if kind == "gs" else 0.5
    return {"iteration": kind, "omega": omega, "a": a, "b": 0.6, "safe": 0.0, "warm": 0.0}


def sheet(solver: SP, vertices: int, size: float = 10.0, pins: int = 2) -> tuple[World, Cloth]:
    """Return a level cloth held at two (or four) corners, 16 ms steps."""
    world = World(dt=0.016, solver=solver)
    n = vertices
    cloth = Cloth.grid((n, n), (size, size), mass=0.2 * size**2, bend=0.0)
    cloth.pin([0, n - 1, n * n - n, n * n - 1][:pins])
    world.add_cloth(cloth)
    return world, cloth


def stretch(cloth: Cloth) -> float:
    """L1 norm of the links' errors, m."""
    return float(np.abs(cloth.stretch * cloth.rest).sum())


def box(
    solver: VTS, grains: int, mu: float = 0.0, radius: float = 0.02, seed: int = 0,
    side: int | None = None, mass: Array | None = None,
) -> World:  # fmt: skip
    """Return grains on a loose lattice that fall in a box, 60 Hz; side: grains along its edge."""
    world = World(dt=FRAME, solver=solver, seed=seed)
    law = material("gravel", friction=mu, restitution=0.01)
    if side is None:
        side = max(round((grains / 1.2) ** (1 / 3)), 2)
    edge = 2.1 * radius * side
    world.add_body(
        Box((edge, edge, 10 * edge), inside=True, open_top=True), name="box",
        position=(0, 0, 5 * edge), material=law,
    )  # fmt: skip
    layers = -(-grains // side**2)
    at = np.stack(np.unravel_index(np.arange(grains), (layers, side, side)), -1)
    place = (at[:, ::-1] + 0.5) * 2.1 * radius - [edge / 2, edge / 2, 0]
    place += world.rng.uniform(-0.03 * radius, 0.03 * radius, place.shape)
    world.add_grains(place, radius, material=law, mass=mass)
    return world


def overlaps(world: World, frames: int) -> Array:
    """Run, and return the L1 norm of all overlaps (m) of each frame; infinite once it diverged."""
    errors = np.full(frames, np.inf)
    for frame in range(frames):
        try:
            report = world.step()
        except SimulationError:
            break
        errors[frame] = report.overlap_mean * report.contacts
    return errors


def curves(ax: Axes, series: dict[str, Array], across: str, up: str, x: Any = None) -> None:
    """Draw named curves with berm's colours."""
    for colour, (label, values) in zip(COLOURS, series.items(), strict=False):
        ax.plot(np.arange(len(values)) if x is None else x, values, color=colour, lw=1.4,
                label=label)  # fmt: skip
    ax.set_xlabel(across)
    ax.set_ylabel(up)
    ax.legend(frameon=False, fontsize=8)


def rows_of(series: dict[str, Array], name: str, x: Any = None) -> list[dict[str, Any]]:
    """Return the rows of a data file: one a point, a column a curve."""
    length = max(len(values) for values in series.values())
    at = range(length) if x is None else x
    return [
        {name: here}
        | {label: float(values[k]) for label, values in series.items() if k < len(values)}
        for k, here in zip(range(length), at, strict=False)
    ]
