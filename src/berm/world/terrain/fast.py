"""The tier "fast": tools dig by the earthmoving equation, on the same columns and ledger."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from berm.core.bodies import Body
from berm.core.errors import InputError
from berm.core.joints import Distance
from berm.core.profile import Profile
from berm.core.rotations import matrix_of
from berm.core.saved import Saved
from berm.core.shapes import Box
from berm.kernels.terrain import digging as kernels
from berm.kernels.terrain.field import HEAD, LOOSE, REPOSE, Field
from berm.world.terrain.columns import Columns
from berm.world.terrain.equations import strength_of
from berm.world.terrain.windows import Window

if TYPE_CHECKING:
    from berm.world.world import World

Array = npt.NDArray[Any]

FAR = 1.0e4  # m to where rows that resist lead: their direction stays that of the force
LEAST = 1.0  # N: below it nothing resists
SAVED = ("ends", "held", "way", "slid")


class FastTool:
    """A tool of the tier "fast": what it carries and what it feels."""

    def __init__(self, fast: Fast, body: Body, profile: Profile, row: int) -> None:
        self.fast, self.body, self.profile, self.row = fast, body, profile, row
        self.rows: tuple[Distance, Distance] | None = None  # against the way, and upwards

    @property
    def forces(self) -> dict[str, Array]:
        """Forces (3,) N on the tool in the last step: "cutting", "prism", "pressing", "load".

        The most that soil resists with in this state. A body that forces move feels as much of the
        first three as it takes to stop it.
        """
        tools, k = self.fast.tools, self.row
        return {
            "cutting": tools.cutting[k].copy(), "prism": tools.prism[k].copy(),
            "pressing": tools.pressing[k].copy(), "load": self.fast.gravity * self.mass,
        }  # fmt: skip

    @property
    def force(self) -> Array:
        """All forces (3,) N on the tool together."""
        return np.asarray(sum(self.forces.values()))

    @property
    def masses(self) -> Array:
        """What it carries (K,) kg, by soil."""
        return self.fast.tools.held[self.row].copy()

    @property
    def mass(self) -> float:
        """What it carries, kg."""
        return float(self.fast.tools.held[self.row].sum())

    @property
    def volume(self) -> float:
        """Room that it takes, m^3."""
        return float((self.masses / self.fast.table[:, LOOSE]).sum())

    @property
    def capacity(self) -> float:
        """Volume (m^3) that it holds as it stands, heaped at the angle of repose."""
        return float(self.fast.tools.room[self.row])

    @property
    def depth(self) -> float:
        """Depth (m) of its edge in soil."""
        return float(self.fast.tools.deep[self.row])


class Fast:
    """All tools of the tier "fast" of a terrain."""

    def __init__(self, columns: Columns, origin: tuple[float, float]) -> None:
        self.columns, self.handles = columns, list[FastTool]()
        self.world: World | None = None
        self.ground: Body | None = None
        self.gravity = np.zeros(3)
        self.table = np.array([
            (one.density, one.loose_density, *strength_of(one)[1:],
             math.tan(math.radians(one.repose_angle)), one.janosi_k)
            for one in columns.soils
        ])  # fmt: skip
        self.tangent = float(self.table[:, REPOSE].min())
        self.field = Field(
            columns.mass, columns.volume, columns.rock, columns.height, columns.of,
            float(origin[0]), float(origin[1]), columns.cell,
        )  # fmt: skip
        self.tools = self._arrays()
        self.covered = np.zeros(columns.shape, np.bool_)
        self.marks = np.zeros(1 + columns.height.size, np.int64)
        self.changed = np.zeros(HEAD + 2 * columns.height.size, np.int64)

    def attach(self, world: World, ground: Body) -> None:
        """Be of the terrain of this world, whose boundary is the body `ground`."""
        self.world, self.ground = world, ground
        self.gravity = world.gravity

    def add(self, body: Body, profile: Profile | None) -> FastTool:
        """Let a body dig. One that forces move is resisted by two rows against the ground."""
        if self.world is None or self.ground is None:
            raise InputError(f"tool {body.name!r}", "no world", "world.add_terrain first")
        if body not in self.world.bodies:
            raise InputError(f"tool {body.name!r}", "a stranger", "a body of the terrain's world")
        if any(one.body is body for one in self.handles):
            raise InputError(f"tool {body.name!r}", "added twice", "each body once")
        if profile is None and isinstance(body.shape, Box):
            profile = Profile.of_box(body.shape)
        if not isinstance(profile, Profile):
            raise InputError(f"tool {body.name!r}: profile", profile, "a Profile; a Box has one")
        handle = FastTool(self, body, profile, len(self.handles))
        before = self.tools
        self.handles.append(handle)
        self.tools = self._arrays()
        for name in SAVED:
            getattr(self.tools, name)[:-1] = getattr(before, name)
        if body.dynamic:
            edge = body.position + body.rotation @ np.asarray(profile.points)[0]
            along, down = (
                Distance(body, self.ground, edge, edge + FAR * np.array(way), name=name,
                         motor=(0.0, 0.0))
                for name, way in ((f"digging of {body.name}", (1.0, 0.0, 0.0)),
                                  (f"pressing of {body.name}", (0.0, 0.0, -1.0)))
            )  # fmt: skip
            self.world.add_joint(along)
            self.world.add_joint(down)
            handle.rows = along, down
        return handle

    def _arrays(self) -> kernels.Tools:
        number = len(self.handles)
        counts = [len(np.asarray(one.profile.points)) for one in self.handles]
        points = np.zeros((number, max(counts, default=2), 3))
        for k, one in enumerate(self.handles):
            points[k, : counts[k]] = one.profile.points
        of = [one.profile for one in self.handles]
        vectors = {
            name: np.array([getattr(p, name) for p in of], float).reshape(number, 3)
            for name in ("across", "opens")
        }
        single = {
            name: np.array([getattr(p, name) for p in of], float)
            for name in ("width", "thickness", "bite")
        }
        return kernels.Tools(
            origin=np.zeros((number, 3)), turn=np.zeros((number, 3, 3)), points=points,
            count=np.array(counts, np.int64), **vectors, **single,
            ends=np.full((number, 2, 3), np.nan), held=np.zeros((number, len(self.table))),
            way=np.ones(number), slid=np.zeros((number, 2)),
            cutting=np.zeros((number, 3)), prism=np.zeros((number, 3)),
            pressing=np.zeros((number, 3)), at=np.zeros((number, 3)), room=np.zeros(number),
            deep=np.zeros(number), load=np.zeros((number, 3)),
        )  # fmt: skip

    @property
    def masses(self) -> Array:
        """What all tools carry (K,) kg, by soil."""
        return np.asarray(self.tools.held.sum(axis=0))

    def act(self, world: World) -> Window | None:
        """Let tools dig as they have moved since the last step; return the window that changed."""
        if not self.handles:
            return None
        self.gravity = world.gravity
        bodies = world.bodies
        rows = [one.body.row for one in self.handles]
        self.tools.origin[:], self.tools.turn[:] = bodies.org[rows], bodies.rot[rows]
        kernels.dig(
            self.field, self.table, self.tools, float(np.linalg.norm(world.gravity)), self.tangent,
            self.covered, self.marks, self.changed,
        )  # fmt: skip
        for one in self.handles:
            if one.rows is not None:
                self._resist(world, one)
        return self.moved(self.changed)

    def moved(self, changed: Array) -> Window | None:
        """Let slopes slide where columns changed; return their window."""
        count, i0, i1, j0, j1 = changed[:HEAD].tolist()
        if not count:
            return None
        nodes = changed[HEAD : HEAD + count]
        self.columns.moving = np.concatenate([self.columns.moving, nodes])
        return i0, i1, j0, j1

    def _resist(self, world: World, one: FastTool) -> None:
        """Set what resists a body that forces move, and load it with what it carries."""
        tools, k = self.tools, one.row
        assert one.rows is not None
        pushed = tools.cutting[k] + tools.prism[k]
        size = float(np.linalg.norm(pushed))
        against, upwards = one.rows
        ahead = -pushed / size if size > LEAST else np.array([1.0, 0.0, 0.0])
        self._aim(one.body, against, tools.at[k], ahead, size if size > LEAST else 0.0)
        edge = 0.5 * (tools.ends[k, 0] + tools.ends[k, 1])
        self._aim(one.body, upwards, edge, np.array([0.0, 0.0, -1.0]), tools.pressing[k, 2])
        if one.mass > 0.0:
            one.body.apply_force(one.mass * world.gravity, tools.load[k])

    def _aim(self, body: Body, row: Distance, at: Array, ahead: Array, most: float) -> None:
        """Let a row resist motion of a point (m) `ahead`, with at most so much (N)."""
        bodies, b = body.bodies, body.row
        turn = matrix_of(bodies.q[b])
        frame = row.joints.frame[row.row]
        frame[:3], frame[3:6] = turn.T @ (at - bodies.x[b]), at + FAR * ahead
        row.drive(0.0, (0.0, float(most)))

    # ---- state ----------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return all that changes."""
        return {name: getattr(self.tools, name).copy() for name in SAVED} | {
            "marks": self.marks[1 : 1 + self.marks[0]].copy()
        }

    def check(self, saved: Saved) -> None:
        """Refuse a state that is not one of these tools."""
        for name in SAVED:
            saved.array(name, np.float64, getattr(self.tools, name).shape)
        saved.array("marks", np.int64, (None,), 0, self.covered.size - 1)

    def restore(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        for name in SAVED:
            getattr(self.tools, name)[:] = state[name]
        self.covered[:] = False
        self.marks[0] = len(state["marks"])
        self.marks[1 : 1 + self.marks[0]] = state["marks"]
        self.covered.reshape(-1)[state["marks"]] = True
