"""Complementarity problems in matrix form, solved by the iterations of [Francu14].

y = A z + q with bounds on z (14)-(15), and for contacts the cone (12): the first 3 nc rows are nc
contacts of a normal and two tangents, with friction mu (nc,); the others are boxed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from berm.core.errors import InputError
from berm.kernels.vts import mlcp_sweep

Array = npt.NDArray[np.float64]


@dataclass
class Problem:
    """y = A z + q; contacts first (mu), then boxed rows between lo and hi (default 0, inf)."""

    A: Any
    q: Array
    mu: Array = field(default_factory=lambda: np.zeros(0))
    lo: Array | None = None
    hi: Array | None = None

    def __post_init__(self) -> None:
        self.q = np.asarray(self.q, float).reshape(-1)
        self.mu = np.asarray(self.mu, float).reshape(-1)
        self.A = sparse.csr_matrix(self.A)
        n = len(self.q)
        if self.A.shape != (n, n) or 3 * len(self.mu) > n:
            raise InputError("problem: A", self.A.shape, f"({n}, {n}), 3 rows a contact")
        if (self.A.diagonal() <= 0).any():
            row = int(np.argmax(self.A.diagonal() <= 0))
            raise InputError(f"problem: A[{row}, {row}]", self.A[row, row], "above 0")
        self.lo = np.zeros(n) if self.lo is None else np.asarray(self.lo, float)
        self.hi = np.full(n, np.inf) if self.hi is None else np.asarray(self.hi, float)

    def residual(self, z: Array) -> float:
        """How far z is from a solution.

        Contacts: natural map of Coulomb's law with De Saxcé's change of variables, relative to
        |q|, [Acary 2011]; without contacts the largest of |z - proj(z - y)|.
        """
        y = self.A @ z + self.q
        k = 3 * len(self.mu)
        boxed = z[k:] - np.clip(z[k:] - y[k:], self.lo[k:], self.hi[k:])  # type: ignore[index]
        if not k:
            return float(np.abs(boxed).max(initial=0.0))
        u = y[:k].reshape(-1, 3).copy()
        u[:, 0] += self.mu * np.hypot(u[:, 1], u[:, 2])
        r = z[:k].reshape(-1, 3)
        total = float(((r - on_cone(r - u, self.mu)) ** 2).sum() + (boxed**2).sum())
        return float(np.sqrt(total) / max(np.linalg.norm(self.q), 1e-300))


def on_cone(points: Array, mu: Array) -> Array:
    """Return the nearest points of the cones |t| <= mu n."""
    n, t = points[:, 0], np.hypot(points[:, 1], points[:, 2])
    inside, below = t <= mu * n, mu * t <= -n
    push = np.where(inside, n, (n + mu * t) / (1 + mu * mu))
    scale = np.where(inside, 1.0, mu * push / np.maximum(t, 1e-300))
    result = np.column_stack([push, scale * points[:, 1], scale * points[:, 2]])
    result[below & ~inside] = 0.0
    return result


@dataclass
class Solution:
    """Multipliers, residual of every tenth iteration, and how many there were."""

    z: Array
    residuals: list[float]
    iterations: int


Step = Callable[[int], None]


def solve(
    problem: Problem,
    iteration: str = "gs",
    most: int = 10_000,
    tolerance: float = 1e-8,
    omega: float = 1.0,
    a: float = 1.0,
    b: float = 0.6,
    inner: int = 20,
    every: int = 10,
) -> Solution:
    """Iterate until the residual is below `tolerance`, or `most` times.

    iteration: "gs" (29), "jacobi" (26), "ij" (36)-(38), "mr" (30)-(31), "cr" (33)-(35). ij starts
    its beta (36) anew every 100 iterations, as a new step would. inner: projections of a contact
    against its own block a sweep.
    """
    z = np.zeros(len(problem.q))
    makers = {"gs": _gauss_seidel, "jacobi": _jacobi, "ij": _improved, "mr": _minres, "cr": _conres}
    if iteration not in makers:
        raise InputError("iteration", iteration, ", ".join(makers))
    step = makers[iteration](problem, z, omega, a, b, inner)
    residuals: list[float] = []
    done = 0
    for done in range(1, most + 1):
        step(done - 1)
        if done % every == 0 or done == most:
            residuals.append(problem.residual(z))
            if residuals[-1] <= tolerance:
                break
    return Solution(z, residuals, done)


def _project(problem: Problem, z: Array) -> None:
    mlcp_sweep.project_rows(z, problem.mu, problem.lo, problem.hi)


def _steps(problem: Problem, rows_too: bool) -> Array:
    """Return 1 / d_i (32), one for all three rows of a contact; rows_too: safe for Jacobi."""
    k = 3 * len(problem.mu)
    d = problem.A.diagonal().copy()
    if rows_too:  # row sums bound the eigenvalues of D^-1 A
        d = np.asarray(abs(problem.A).sum(axis=1)).reshape(-1)
        d[:k] = np.repeat(d[:k].reshape(-1, 3).max(axis=1), 3)
    else:
        for c in range(k // 3):
            block = problem.A[3 * c : 3 * c + 3, 3 * c : 3 * c + 3].toarray()
            d[3 * c : 3 * c + 3] = np.linalg.norm(block, 2)
    return np.asarray(1.0 / d)


def _gauss_seidel(p: Problem, z: Array, omega: float, a: float, b: float, inner: int) -> Step:
    alpha, m = _steps(p, False), p.A

    def step(_: int) -> None:
        mlcp_sweep.sweep(m.indptr, m.indices, m.data, p.q, p.mu, p.lo, p.hi, alpha, omega, inner, z)

    return step


def _jacobi(p: Problem, z: Array, omega: float, a: float, b: float, inner: int) -> Step:
    return _improved(p, z, omega, 0.0, b, inner)


def _improved(p: Problem, z: Array, omega: float, a: float, b: float, inner: int) -> Step:
    alpha, change = omega * _steps(p, True), np.zeros_like(z)

    def step(l_: int) -> None:
        beta = min(a * ((l_ % 100) / 100) ** b, 1.0) if a > 0 else 0.0
        before = z.copy()
        z[:] = z - alpha * (p.A @ z + p.q) + beta * change
        _project(p, z)
        change[:] = z - before

    return step


def alpha_0(A: Any, steps: int = 30) -> float:
    """1 / rho(A) by power iteration (Sec. 4.1), with a margin of 1.1."""
    y = 1.0 + 0.5 * np.sin(np.arange(A.shape[0]))
    value = 1.0
    for _ in range(steps):
        y = A @ (y / np.linalg.norm(y))
        value = float(np.linalg.norm(y))
    return 1.0 / (1.1 * value)


def _scaled(p: Problem) -> tuple[Array, Any]:
    """Return S and S A S with unit blocks on the diagonal: rows of light and heavy bodies alike.

    S is one number a contact, so cones stay what they are.
    """
    scale = np.sqrt(_steps(p, False))
    return scale, sparse.diags(scale) @ p.A @ sparse.diags(scale)


def _minres(p: Problem, z: Array, omega: float, a: float, b: float, inner: int) -> Step:
    scale, even = _scaled(p)
    limit = omega * alpha_0(even)

    def step(_: int) -> None:
        r = scale * (p.A @ z + p.q)
        image = even @ r
        alpha = min(float(r @ image) / max(float(image @ image), 1e-300), limit)
        z[:] = z - alpha * scale * r
        _project(p, z)

    return step


def _conres(p: Problem, z: Array, omega: float, a: float, b: float, inner: int) -> Step:
    scale, even = _scaled(p)
    alpha, way, last = omega * alpha_0(even), np.zeros_like(z), [0.0]

    def step(_: int) -> None:
        r = scale * (p.A @ z + p.q)
        free = np.ones_like(r, bool)
        k = 3 * len(p.mu)
        free[k:] = ~(((z <= p.lo) & (r > 0)) | ((z >= p.hi) & (r < 0)))[k:]  # type: ignore[operator]
        r = np.where(free, r, 0.0)
        now = float(r @ (even @ r))
        beta = min(now / last[0], 1.0) if last[0] > 0.0 else 0.0
        if float(r @ way) < 0.0:  # the last direction leads uphill by now: start anew
            beta = 0.0
        last[0] = now
        way[:] = np.where(free, r + beta * way, 0.0)
        before = z.copy()
        z[:] = z - alpha * scale * way
        _project(p, z)
        way[:] = (before - z) / (alpha * scale)  # what projection left of the direction

    return step
