"""Wheels and tracks on a terrain: rows that bear and hold no more than soil can, and ruts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from berm.core import checks
from berm.core.bodies import Body
from berm.core.errors import InputError
from berm.core.joints import Distance
from berm.core.materials import material
from berm.core.rotations import matrix_of
from berm.core.saved import Saved
from berm.kernels.terrain import standing as kernels
from berm.world.terrain.equations import ground_of
from berm.world.terrain.fast import FAR, Fast
from berm.world.terrain.windows import Window

if TYPE_CHECKING:
    from berm.world.world import World

Array = npt.NDArray[Any]

_ABOVE_0 = ("a finite number above 0 m", lambda x: 0.0 < x < math.inf)
PIECES = 3  # of a track, each of which bears
SAVED = ("sunk", "slid")
UP, AHEAD_, ACROSS, BACK = range(4)  # rows of a foot
WAYS = ("bearing", "pull", "side", "drag")


class Foot:
    """A wheel, or a piece of a track, that stands in soil."""

    def __init__(
        self, feet: Feet, body: Body, middle: Array, axle: Array, radius: float, length: float,
        width: float,
    ) -> None:  # fmt: skip
        self.feet, self.body, self.row = feet, body, len(feet.handles)
        self.middle, self.axle = middle, axle  # in the body's frame
        self.radius, self.length, self.width = radius, length, width
        self.rows: list[Distance] = []

    @property
    def sinkage(self) -> float:
        """How deep its lowest point stands in soil, m."""
        return max(float(self.feet.arrays.sunk[self.row]), 0.0)

    @property
    def limits(self) -> dict[str, float]:
        """What soil can do to it: "bearing", "pull", "side", "drag", N."""
        return {
            way: float(most)
            for way, most in zip(WAYS, self.feet.arrays.most[self.row], strict=True)
        }

    @property
    def force(self) -> Array:
        """Mean force (3,) N of soil on it over the last step."""
        return np.asarray(sum((row.force for row in self.rows), np.zeros(3)))


class Feet:
    """All wheels and tracks that stand in the soil of a terrain."""

    def __init__(self, fast: Fast) -> None:
        self.fast, self.handles = fast, list[Foot]()
        shape = fast.columns.shape
        self.pressed = np.zeros(shape)  # m, by which each column was pressed
        self.changed = np.zeros_like(fast.changed)
        self.bearing = np.array([
            (*ground_of(one), material(one.material).density, one.compaction, one.density,
             one.preconsolidation)
            for one in fast.columns.soils
        ])  # fmt: skip
        self.arrays = self._arrays()

    def add_wheel(
        self, body: Body, radius: float, width: float, axle: npt.ArrayLike = (0.0, 1.0, 0.0)
    ) -> Foot:
        """Let a wheel stand in soil: its middle is the body's origin, axle (3,) in its frame."""
        checks.number(f"wheel {body.name!r}: radius", radius, *_ABOVE_0)
        return self._add(body, np.zeros(3), axle, radius, 2.0 * radius, width, "wheel")

    def add_track(
        self, body: Body, length: float, width: float, middle: npt.ArrayLike,
        axle: npt.ArrayLike = (0.0, 1.0, 0.0),
    ) -> list[Foot]:  # fmt: skip
        """Let a track stand in soil: middle (3,) m of its underside and axle, in the body's frame.

        The speed of its belt is `body.belt`'s.
        """
        at = checks.vector(f"track {body.name!r}: middle", middle)
        checks.number(f"track {body.name!r}: length", length, *_ABOVE_0)
        axis = self._axle(body, axle, "track")
        ahead = np.cross(axis, (0.0, 0.0, 1.0))
        step = length / PIECES
        return [
            self._add(body, at + (k - 0.5 * (PIECES - 1)) * step * ahead, axis, 0.0, step, width,
                      "track")
            for k in range(PIECES)
        ]  # fmt: skip

    def _axle(self, body: Body, axle: npt.ArrayLike, what: str) -> Array:
        axis = checks.vector(f"{what} {body.name!r}: axle", axle)
        if not np.linalg.norm(axis) > 0.0:
            raise InputError(f"{what} {body.name!r}: axle", axis.tolist(), "an axis, not zero")
        return axis / np.linalg.norm(axis)

    def _add(
        self, body: Body, middle: Array, axle: npt.ArrayLike, radius: float, length: float,
        width: float, what: str,
    ) -> Foot:  # fmt: skip
        world, ground = self.fast.world, self.fast.ground
        label = f"{what} {body.name!r}"
        if world is None or ground is None or body not in world.bodies:
            raise InputError(label, "a stranger", "a body of the terrain's world")
        checks.number(f"{label}: width", width, *_ABOVE_0)
        foot = Foot(self, body, middle, self._axle(body, axle, what), radius, length, width)
        before = self.arrays
        self.handles.append(foot)
        self.arrays = self._arrays()
        for name in SAVED:
            getattr(self.arrays, name)[:-1] = getattr(before, name)
        if body.dynamic:
            at = body.position + body.rotation @ middle
            for way in WAYS:
                row = Distance(body, ground, at, [at[0] + FAR, *at[1:]], motor=(0.0, 0.0),
                               name=f"{way} {foot.row} of {body.name}")  # fmt: skip
                world.add_joint(row)
                foot.rows.append(row)
        return foot

    def _arrays(self) -> kernels.Feet:
        n = len(self.handles)
        single = {
            name: np.array([getattr(one, name) for one in self.handles], float)
            for name in ("radius", "length", "width")
        }
        return kernels.Feet(
            middle=np.zeros((n, 3)), ahead=np.zeros((n, 3)), **single, speed=np.zeros((n, 4)),
            sunk=np.zeros(n), slid=np.zeros((n, 2)), most=np.zeros((n, 4)), rise=np.zeros(n),
        )  # fmt: skip

    def act(self, world: World) -> Window | None:
        """Bound what soil does to all feet in the coming step; press ruts; return their window."""
        if not self.handles:
            return None
        arrays, across = self.arrays, np.zeros((len(self.handles), 3))
        for one in self.handles:
            across[one.row] = self._place(world, one)
        kernels.stand(
            self.fast.field, self.fast.table, self.bearing, arrays, self.pressed, world.dt,
            self.changed,
        )  # fmt: skip
        for one in self.handles:
            if one.rows:
                self._bear(world, one, across[one.row])
        return self.fast.moved(self.changed)

    def _place(self, world: World, one: Foot) -> Array:
        """Write where a foot is and how fast; return its level axle."""
        bodies, row, f = world.bodies, one.body.row, one.row
        turn, arrays = bodies.rot[row], self.arrays
        out = turn @ one.middle
        axle = turn @ one.axle
        ahead = np.cross(axle, (0.0, 0.0, 1.0))
        ahead /= max(float(np.linalg.norm(ahead)), 1e-9)
        across = np.cross((0.0, 0.0, 1.0), ahead)
        speed = bodies.pace[row] + np.cross(bodies.omega[row], out)
        belt = bodies.belt[row]
        rim = float(bodies.omega[row] @ axle) * one.radius
        if one.radius == 0.0:
            rim = float(belt[3] * (np.cross(turn @ belt[:3], (0.0, 0.0, 1.0)) @ ahead))
        arrays.middle[f], arrays.ahead[f] = bodies.org[row] + out, ahead
        arrays.speed[f] = speed @ ahead, speed @ across, rim, speed[2]
        return across

    def _bear(self, world: World, one: Foot, across: Array) -> None:
        """Aim the rows of a foot, and bound them."""
        arrays, f = self.arrays, one.row
        bodies, body = world.bodies, one.body.row
        turn, joints = matrix_of(bodies.q[body]), world.joints
        middle, ahead = arrays.middle[f], arrays.ahead[f]
        ground = middle - [0.0, 0.0, one.radius]
        way = 1.0 if arrays.speed[f, 0] >= 0.0 else -1.0
        belt = 0.0 if one.radius > 0.0 else -arrays.speed[f, 2]
        load, pull, side, drag = arrays.most[f]
        down = np.array([0.0, 0.0, -1.0])
        for joint, at, towards, speed, effort in (
            (one.rows[UP], middle, down, float(arrays.rise[f]), (0.0, load)),
            (one.rows[AHEAD_], ground, ahead, belt, (pull, pull)),
            (one.rows[ACROSS], ground, across, 0.0, (side, side)),
            (one.rows[BACK], middle, way * ahead, 0.0, (0.0, drag)),
        ):
            row = joint.row
            joints.frame[row, :3] = turn.T @ (at - bodies.x[body])
            joints.frame[row, 3:6] = at + FAR * towards
            joints.target[row], joints.effort[row] = speed, effort

    # ---- state ----------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return all that changes."""
        return {name: getattr(self.arrays, name).copy() for name in SAVED} | {
            "pressed": self.pressed.copy()
        }

    def check(self, saved: Saved) -> None:
        """Refuse a state that is not one of these feet."""
        for name in SAVED:
            saved.array(name, np.float64, getattr(self.arrays, name).shape)
        saved.array("pressed", np.float64, self.pressed.shape, 0.0)

    def restore(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        for name in SAVED:
            getattr(self.arrays, name)[:] = state[name]
        self.pressed[:] = state["pressed"]
