"""Cloth: particles held together by constraints, [Francu14] Sec. 8.2, and constraints as such."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.errors import InputError
from berm.core.materials import Material
from berm.core.saved import Saved

Array = npt.NDArray[Any]
Evaluate = Callable[[Array], tuple[Array, Array]]


@dataclass
class Form:
    """Constraints given by a function of positions, for anything that links do not say.

    vertices (m, k), k at most 4: whom each acts on. evaluate(x) takes all positions (n, 3) of the
    cloth and returns the errors C (m,) and their gradients (m, k, 3). stiffness: as for links.
    lower, upper: bounds of the multiplier; (0, inf) holds C >= 0, (-inf, inf) holds C = 0.
    """

    vertices: Array
    evaluate: Evaluate
    stiffness: float = 1.0
    lower: float = -np.inf
    upper: float = np.inf

    def __post_init__(self) -> None:
        self.vertices = np.atleast_2d(np.asarray(self.vertices, np.int64))
        if self.vertices.shape[1] > 4:
            raise InputError("form: vertices", self.vertices.shape, "(m, k) with k at most 4")
        if not 0.0 <= self.stiffness <= 1.0:
            raise InputError("form: stiffness", self.stiffness, "0 to 1")


class Cloth:
    """Particles, links that keep their lengths, and faces that grains collide with.

    position (n, 3) m, velocity (n, 3) m/s, inverse_mass (n,) 1/kg, 0 where pinned; faces (f, 3);
    links (m, 2) with rest lengths (m,) and stiffness (m,) in 0..1 as in [MHHR07]: the part of an
    error that one step corrects. thickness (m): distance that grains and bodies keep. damping
    (1/s): rate at which velocities fade, for cloth that is to come to rest. self_collision: it
    meets itself, and other cloth that does, layers keeping `self_thickness` (m; None: thickness)
    and rubbing with `self_friction`; what is closer than that in `shape`, (n, 3) m, the shape it
    was made in, does not meet.
    """

    def __init__(
        self,
        position: npt.ArrayLike,
        faces: npt.ArrayLike,
        mass: float,
        stretch: float = 1.0,
        bend: float = 0.05,
        thickness: float = 0.005,
        material: str | Material = "cloth",
        damping: float = 0.0,
        name: str = "cloth",
        self_collision: bool = False,
        self_thickness: float | None = None,
        self_friction: float = 0.3,
    ) -> None:
        self.name, self.thickness = name, float(thickness)
        self.material: str | Material = material
        self.damping = float(damping)
        self.position: Array = np.array(position, float)
        self.faces: Array = np.array(faces, np.int64).reshape(-1, 3)
        n = len(self.position)
        if self.position.shape != (n, 3) or not np.isfinite(self.position).all():
            raise InputError(f"cloth {name!r}: position", np.shape(position), "finite (n, 3)")
        if self.faces.size and not (self.faces.min() >= 0 and self.faces.max() < n):
            raise InputError(f"cloth {name!r}: faces", int(self.faces.max()), f"0 to {n - 1}")
        for label, value in (("stretch", stretch), ("bend", bend)):
            if not 0.0 <= value <= 1.0:
                raise InputError(f"cloth {name!r}: {label}", value, "0 to 1")
        if not (np.isfinite(mass) and mass > 0.0):
            raise InputError(f"cloth {name!r}: mass", mass, "above 0, kg")
        self.self_collision = bool(self_collision)
        self.self_thickness = self.thickness if self_thickness is None else float(self_thickness)
        self.self_friction = float(self_friction)
        self._check_self_collision(self_thickness is not None)
        self.shape: Array = self.position.copy()
        self.velocity = np.zeros_like(self.position)
        self.inverse_mass: Array = np.full(n, n / mass)
        self.links: Array = np.zeros((0, 2), np.int64)
        self.rest: Array = np.zeros(0)
        self.stiffness: Array = np.zeros(0)
        self.forms: list[Form] = []
        edges, across = _edges_of(self.faces)
        self.add_links(edges, stretch)
        self.add_links(across, bend)

    def _check_self_collision(self, given: bool) -> None:
        what = f"cloth {self.name!r}: "
        if given and not self.self_collision:
            raise InputError(what + "self_thickness", self.self_thickness, "self_collision=True")
        if not self.self_collision:
            return
        if not (np.isfinite(self.self_thickness) and self.self_thickness > 0.0):
            label = "self_thickness" if given else "thickness"
            raise InputError(what + label, self.self_thickness, "above 0, m, to meet itself")
        if not (np.isfinite(self.self_friction) and self.self_friction >= 0.0):
            raise InputError(what + "self_friction", self.self_friction, "0 or more")
        if not len(self.faces):
            raise InputError(what + "self_collision", True, "False: it has no faces to meet")

    @classmethod
    def grid(
        cls,
        shape: tuple[int, int],
        size: tuple[float, float],
        origin: Sequence[float] = (0.0, 0.0, 0.0),
        mass: float = 1.0,
        stretch: float = 1.0,
        shear: float = 1.0,
        bend: float = 0.05,
        **options: Any,
    ) -> Cloth:
        """Return a rectangle of shape (nx, ny) vertices and size (m), level, from `origin` on.

        Links as in [Pro96]: stretch along the threads, shear along both diagonals, bend over two.
        """
        nx, ny = shape
        if min(nx, ny) < 2:
            raise InputError("cloth grid: shape", shape, "at least 2 x 2 vertices")
        i, j = np.meshgrid(np.arange(nx), np.arange(ny), indexing="ij")
        place = np.stack([i * size[0] / (nx - 1), j * size[1] / (ny - 1), 0.0 * i], -1)
        number = i * ny + j
        a, b = number[:-1, :-1].ravel(), number[1:, :-1].ravel()
        c, d = number[1:, 1:].ravel(), number[:-1, 1:].ravel()
        faces = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
        cloth = cls(place.reshape(-1, 3) + np.asarray(origin), faces, mass, **options)
        cloth.links, cloth.rest = np.zeros((0, 2), np.int64), np.zeros(0)
        cloth.stiffness = np.zeros(0)
        along = [_shifted(number, 1, 0), _shifted(number, 0, 1)]
        cloth.add_links(np.concatenate(along), stretch)
        cloth.add_links(np.concatenate([np.stack([a, c], 1), np.stack([b, d], 1)]), shear)
        over = [_shifted(number, 2, 0), _shifted(number, 0, 2)]
        cloth.add_links(np.concatenate(over), bend)
        return cloth

    def add_links(
        self, pairs: npt.ArrayLike, stiffness: float = 1.0, rest: npt.ArrayLike | None = None
    ) -> None:
        """Hold pairs (m, 2) of vertices at their present distance, or at `rest` (m)."""
        new = np.array(pairs, np.int64).reshape(-1, 2)
        if not len(new) or stiffness == 0.0:
            return
        apart = np.linalg.norm(self.position[new[:, 0]] - self.position[new[:, 1]], axis=1)
        length = apart if rest is None else np.broadcast_to(np.asarray(rest, float), apart.shape)
        self.links = np.concatenate([self.links, new])
        self.rest = np.concatenate([self.rest, length])
        self.stiffness = np.concatenate([self.stiffness, np.full(len(new), float(stiffness))])

    def add_form(self, form: Form) -> Form:
        """Add constraints of your own."""
        if form.vertices.max() >= len(self.position):
            raise InputError("form: vertices", int(form.vertices.max()), "vertices of the cloth")
        self.forms.append(form)
        return form

    def pin(self, vertices: npt.ArrayLike) -> None:
        """Hold vertices where they are; set their `velocity` to lead them."""
        self.inverse_mass[np.asarray(vertices, np.int64)] = 0.0
        self.velocity[np.asarray(vertices, np.int64)] = 0.0

    @property
    def stretch(self) -> Array:
        """Relative elongation of each link."""
        a, b = self.links[:, 0], self.links[:, 1]
        return np.linalg.norm(self.position[a] - self.position[b], axis=1) / self.rest - 1.0

    def state(self) -> dict[str, Any]:
        """Everything that changes while it moves."""
        return {"position": self.position.copy(), "velocity": self.velocity.copy(),
                "inverse_mass": self.inverse_mass.copy()}  # fmt: skip

    def check(self, saved: Saved) -> None:
        """Refuse a state that cannot be put back."""
        n = len(self.position)
        saved.array("position", float, (n, 3))
        saved.array("velocity", float, (n, 3))
        saved.array("inverse_mass", float, (n,), 0.0)

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        for name in ("position", "velocity", "inverse_mass"):
            getattr(self, name)[:] = state[name]


def _shifted(number: Array, di: int, dj: int) -> Array:
    nx, ny = number.shape
    one, two = number[: nx - di, : ny - dj], number[di:, dj:]
    return np.stack([one.ravel(), two.ravel()], 1)


def _edges_of(faces: Array) -> tuple[Array, Array]:
    """Return the edges of triangles, and the two vertices across each inner edge."""
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    tips = np.concatenate([faces[:, 2], faces[:, 0], faces[:, 1]])
    sides = np.sort(sides, axis=1)
    order = np.lexsort((sides[:, 1], sides[:, 0]))
    sides, tips = sides[order], tips[order]
    same = (sides[1:] == sides[:-1]).all(axis=1) if len(sides) else np.zeros(0, bool)
    across = np.stack([tips[:-1][same], tips[1:][same]], 1)
    return np.unique(sides, axis=0), across


def dihedral(cloth: Cloth, stiffness: float = 0.1) -> Form:
    """Return bending constraints that keep the angle between neighbouring faces, [MHHR07] (A)."""
    hinges = []
    owner: dict[tuple[int, int], int] = {}
    for a, b, c in cloth.faces.tolist():
        for p, q, tip in ((a, b, c), (b, c, a), (c, a, b)):
            key = (min(p, q), max(p, q))
            if key in owner:
                hinges.append((*key, owner[key], tip))
            else:
                owner[key] = tip
    table = np.array(hinges, np.int64).reshape(-1, 4)
    rest = _bend(cloth.position, table)[0]

    def evaluate(x: Array) -> tuple[Array, Array]:
        angle, grad = _bend(x, table)
        return angle - rest, grad

    return Form(table, evaluate, stiffness)


def _bend(x: Array, table: Array) -> tuple[Array, Array]:
    """Angle at each hinge (p, q, a, b), 0 when flat, and its gradient."""
    p, q, a, b = (x[table[:, k]] for k in range(4))
    e = q - p
    long = np.linalg.norm(e, axis=1)
    n1, n2 = np.cross(e, a - p), np.cross(b - p, e)
    s1, s2 = (n1**2).sum(1), (n2**2).sum(1)
    angle = np.arctan2((np.cross(n1, n2) * e).sum(1) / long, (n1 * n2).sum(1))
    ga, gb = (long / s1)[:, None] * n1, (long / s2)[:, None] * n2
    ta, tb = ((a - p) * e).sum(1) / long**2, ((b - p) * e).sum(1) / long**2
    gq = -ta[:, None] * ga - tb[:, None] * gb
    gp = -(1 - ta)[:, None] * ga - (1 - tb)[:, None] * gb
    return angle, -np.stack([gp, gq, ga, gb], 1)


def volume(position: npt.ArrayLike, tetrahedra: npt.ArrayLike, stiffness: float = 1.0) -> Form:
    """Return constraints that keep the volumes of tetrahedra (m, 4)."""
    table = np.array(tetrahedra, np.int64).reshape(-1, 4)

    def value(x: Array) -> tuple[Array, Array]:
        a, b, c, d = (x[table[:, k]] for k in range(4))
        gb, gc, gd = np.cross(c - a, d - a), np.cross(d - a, b - a), np.cross(b - a, c - a)
        grad = np.stack([-(gb + gc + gd), gb, gc, gd], 1) / 6.0
        return ((b - a) * gb).sum(1) / 6.0, grad

    rest = value(np.asarray(position, float))[0]

    def evaluate(x: Array) -> tuple[Array, Array]:
        now, grad = value(x)
        return now - rest, grad

    return Form(table, evaluate, stiffness)
