"""Exchangeable iterations on the constraints of a step, [Francu14] Sec. 3.4 and 4.

Each is made for one solve: `Iteration(rows, touching, v, par, friction, tuning)`, then
`run(begin, end)`. Contacts with dynamic bodies are answered after each iteration on all others.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.registry import Registry
from berm.kernels.vts import bodies as vts_bodies
from berm.kernels.vts import jacobi as vts_jacobi
from berm.kernels.vts import krylov as vts_krylov
from berm.kernels.vts import sweep as vts_sweep
from berm.kernels.vts.bodies import Touching
from berm.kernels.vts.law import FIXED, FORM, MODE, MOVING
from berm.solvers.vts.rows import Rows

Array = npt.NDArray[Any]
ITERATIONS: Registry[type[Iteration]] = Registry("iteration")
POWER_STEPS = 12  # of the power iteration; the largest eigenvalue is then known to a few percent
POWER_MARGIN = 1.1


@dataclass
class Tuning:
    """What an iteration needs to know: see the options of `VTS`."""

    most: int = 15
    omega: float | None = None
    safe: float = 3.0
    a: float = 1.0
    b: float = 0.6
    delay: int = 0
    exact: bool = False


class Iteration:
    """Common part: the arrays of one solve. `omega` is the default of the kind."""

    omega = 1.0
    neighbours = False  # needs the constraints of each particle
    safe = 0.0  # largest `safe` that is stable: 2 (1 + beta); 0: needs none

    def __init__(
        self, rows: Rows, touching: Touching, v: Array, par: Array, friction: int, tuning: Tuning
    ) -> None:
        self.rows, self.touching, self.v, self.tuning = rows, touching, v, tuning
        self.par, self.friction = par, friction
        if self.neighbours:
            rows.find_neighbours()
        if min(tuning.safe, self.safe) > 0.0:
            rows.count_all()
        self.set_alpha()

    def set_alpha(self) -> None:
        """Set the constraints' steps; again where gradients have changed."""
        omega = self.omega if self.tuning.omega is None else self.tuning.omega
        self.rows.set_alpha(self.v, omega, min(self.tuning.safe, self.safe))

    def run(self, begin: int, end: int) -> None:
        """Do iterations `begin` to `end`."""
        raise NotImplementedError

    def residual(self) -> tuple[float, float]:
        """L1 norm and maximum of |P - proj(P - alpha R)| / alpha over the constraints, m/s."""
        r = self.rows
        vts_krylov.residuals(
            *r.chunks, *r.shape, r.row, r.imp, self.v, self.par, self.friction,
            np.zeros_like(r.imp), r.sums,
        )  # fmt: skip
        return float(r.sums[:, 0].sum()), float(r.sums[:, 1].max(initial=0.0))


@ITERATIONS.register("gs")
class GaussSeidel(Iteration):
    """Projected Gauss-Seidel (29); omega above 1: successive over-relaxation."""

    def __init__(
        self, rows: Rows, touching: Touching, v: Array, par: Array, friction: int, tuning: Tuning
    ) -> None:
        super().__init__(rows, touching, v, par, friction, tuning)
        rows.find_seats(apart=True, memory=False)

    def run(self, begin: int, end: int) -> None:
        """Sweep unit after unit, colours side by side."""
        r = self.rows
        vts_sweep.sweep(
            begin, end, self.tuning.delay, *r.order, *r.shape, r.row, r.imp, r.change, r.block,
            r.extra, self.v, self.par, self.friction, self.touching,
        )  # fmt: skip


@ITERATIONS.register("jacobi")
class Jacobi(Iteration):
    """Projected Jacobi (26)-(27) with one omega, at most what is safe."""

    omega = 0.5
    safe = 1.9
    grow = 0.0  # a of (36); 0: no memory of the last change

    def __init__(
        self, rows: Rows, touching: Touching, v: Array, par: Array, friction: int, tuning: Tuning
    ) -> None:
        super().__init__(rows, touching, v, par, friction, tuning)
        rows.clear_change_of_four()
        rows.find_seats(apart=False, memory=True)

    def run(self, begin: int, end: int) -> None:
        """Answer all constraints from the velocities that each iteration begins with."""
        r = self.rows
        vts_jacobi.iterate(
            begin, end, self.tuning.most, self.tuning.delay, self.grow, self.tuning.b, *r.order,
            *r.shape, r.row, r.imp, r.change, r.block, r.extra, self.v, r.old, self.par,
            self.friction, self.touching,
        )  # fmt: skip


@ITERATIONS.register("split")
class Split(Jacobi):
    """Jacobi with division by the number of constraints of each body (after (27)).

    **Deviation** from print: the division acts on the masses that a constraint sees (mass
    splitting, [TBV12]), so that both bodies of a contact get the same impulse.
    """

    omega = np.inf

    def __init__(
        self, rows: Rows, touching: Touching, v: Array, par: Array, friction: int, tuning: Tuning
    ) -> None:
        one = dataclasses.replace(tuning, omega=None, safe=1.0)
        super().__init__(rows, touching, v, par, friction, one)


@ITERATIONS.register("ij")
class ImprovedJacobi(Jacobi):
    """Improved Jacobi (36)-(38), with the sign of (33)-(34)."""

    safe = 4.0

    def __init__(
        self, rows: Rows, touching: Touching, v: Array, par: Array, friction: int, tuning: Tuning
    ) -> None:
        super().__init__(rows, touching, v, par, friction, tuning)
        self.grow = tuning.a


class _Descent(Iteration):
    """What minimum and conjugate residuals share: residuals, products with A, alpha_0."""

    neighbours = True

    def __init__(
        self, rows: Rows, touching: Touching, v: Array, par: Array, friction: int, tuning: Tuning
    ) -> None:
        super().__init__(rows, touching, v, par, friction, tuning)
        rows.clear_change()
        self.res, self.way, self.image, self.old = (np.zeros_like(rows.imp) for _ in range(4))
        self.y = np.zeros_like(v)
        self.y[:, 3] = v[:, 3]
        self._residuals()
        self.alpha_0 = self._alpha_0()
        self.last = 0.0
        self.betas: list[float] = []

    def set_alpha(self) -> None:
        """Set the constraints' steps, and look again at what forms say now."""
        super().set_alpha()
        if hasattr(self, "res"):
            self._residuals()

    def _residuals(self) -> None:
        r = self.rows
        vts_krylov.residuals(
            *r.chunks, *r.shape, r.row, r.imp, self.v, self.par, self.friction, self.res, r.sums
        )

    def _product(self, given: Array, out: Array) -> None:
        r = self.rows
        self.y[:, :3] = 0
        r.push(self.y, given)
        vts_krylov.product(*r.chunks, *r.shape, r.row, given, self.y, self.friction, out)

    def _dot(self, one: Array, two: Array) -> float:
        vts_krylov.dot(*self.rows.chunks, one, two, self.rows.sums)
        return float(self.rows.sums[:, 0].sum())

    def _alpha_0(self) -> float:
        """1 / rho(A) by power iteration (Sec. 4.1), on all constraints: open ones may close."""
        given, value = np.zeros_like(self.res), 0.0
        # no symmetry that hides a mode; by order, not by place: room between rows may differ
        used = self.rows.used
        spread = 1.0 + 0.5 * np.sin(np.arange(len(used)))
        given[used, :3] = self.rows.row[used, :3] * spread[:, None]
        if self.rows.kind.size and self.rows.kind.max() == FORM:
            given[self.rows.qbase + self.rows.faces :, 0] = 1.0
        for _ in range(POWER_STEPS):
            size = np.sqrt(self._dot(given, given))
            if size == 0.0:
                break
            given /= size
            self._product(given, self.image)
            value = self._dot(given, self.image)
            given, self.image = self.image, given
        return 1.0 / (POWER_MARGIN * value) if value > 0.0 else 0.0

    def _descend(self, it: int, alpha: float, way: Array) -> None:
        r = self.rows
        vts_krylov.descend(
            v_type(self.v, alpha), *r.chunks, *r.shape, r.row, r.imp, self.v, self.par,
            self.friction, way, r.change,
        )  # fmt: skip
        r.push(self.v, r.change)
        vts_bodies.iterate(self.touching, self.v, self.par, self.friction, it)
        self._residuals()

    def _start(self, it: int) -> None:
        if self.par[MODE] == FIXED and it >= self.tuning.delay:
            self.par[MODE] = MOVING
            self._residuals()


@ITERATIONS.register("mr")
class MinimumResidual(_Descent):
    """Projected minimum residual (30); alpha from (31) with `exact`, else alpha_0."""

    def run(self, begin: int, end: int) -> None:
        """Step along the residual."""
        for it in range(begin, end):
            self._start(it)
            alpha = self.alpha_0
            if self.tuning.exact:
                self._product(self.res, self.image)
                bottom = self._dot(self.image, self.image)
                alpha = self._dot(self.res, self.image) / bottom if bottom > 0.0 else 0.0
            self._descend(it, alpha, self.res)


@ITERATIONS.register("cr")
class ConjugateResiduals(_Descent):
    """Projected conjugate residuals (33)-(35), beta at most 1; `exact`: alpha of [Saa03] too."""

    def run(self, begin: int, end: int) -> None:
        """Step along directions that are conjugate as far as projection lets them."""
        for it in range(begin, end):
            self._start(it)
            self._product(self.res, self.image)
            now = self._dot(self.res, self.image)
            beta = min(now / self.last, 1.0) if self.last > 0.0 else 0.0
            self.betas.append(beta)
            if self._dot(self.res, self.way) < 0.0:  # the last direction leads uphill by now
                beta = 0.0
            self.last = now
            vts_krylov.combine(*self.rows.chunks, self.res, v_type(self.v, beta), self.way)
            alpha = self.alpha_0
            if self.tuning.exact:
                vts_krylov.combine(*self.rows.chunks, self.image, v_type(self.v, beta), self.old)
                bottom = self._dot(self.old, self.old)  # A d = A r + beta A d
                alpha = now / bottom if bottom > 0.0 else 0.0
            self._descend(it, alpha, self.way)


def v_type(v: Array, value: float) -> Any:
    """Return a number of the array's own type."""
    return v.dtype.type(value)
