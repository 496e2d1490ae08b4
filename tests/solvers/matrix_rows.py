"""Complementarity problems in matrix form as rows of the multibody core.

y = W z + q with W = L L^T + sigma: row i is L[i], cut into pieces of six over bodies of unit mass.
Where a connected part of W has rank 12 at most, two bodies carry it and each row is one row; else
a row goes on in further ones that share its multiplier (`rows.more`, as gears do).
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from berm.kernels.jit import in_python
from berm.kernels.multibody.arrays import DYNAMIC, BodyArrays, no_bodies
from berm.kernels.multibody.blocks import no_plan
from berm.kernels.multibody.contact_rows import NORMAL, ROWS_A_CONTACT
from berm.kernels.multibody.joints import SHARED
from berm.kernels.multibody.rows import make_rows
from berm.kernels.multibody.solve import FAILED, NSTATS, solve_rows
from berm.solvers.multibody.multibody import METHODS

TINY = 1e-10  # of the largest eigenvalue: compliance of rows that hang together
PAIR = 12  # numbers that one row has


def square_root(w):
    """L and sigma with L L^T + sigma = w, as few columns as it takes, for a positive part of w."""
    values, vectors = np.linalg.eigh(w)
    most = values[-1]
    if values[0] < -1e-6 * most or np.abs(w - w.T).max() > 1e-9 * most:
        raise ValueError("a row pushes as it feels: W has to be symmetric and positive")
    sigma = max(0.5 * values[0], TINY * most)
    keep = values > sigma + TINY * most
    return vectors[:, keep] * np.sqrt(values[keep] - sigma), sigma


class MatrixRows:
    """Rows for y = W z + q, z >= 0; with mu (nc,) three rows a contact: normal and tangents.

    given: ends (nc, 2) and J (nc, 3, 12) of the contacts, where they are known (`recover_rows`).
    """

    def __init__(self, w, q, mu=None, given=None):
        n = len(q)
        self.count, self.friction = n, mu is not None
        if given is not None:
            ends, numbers = given
            self.sigma, self.chained = np.full(n, TINY * np.linalg.norm(w, 2)), False
            self.bodies = _unit_bodies(ends.max() + 2)
            pieces = [(k, 0, one[None]) for k, one in enumerate(numbers.reshape(n, PAIR))]
            self.rows = self._fill(pieces, q, mu)
            self.rows.ends[:n] = self.rows.units[:n] = np.repeat(ends + 1, 3, axis=0)
            return
        linked = np.abs(w) > 1e-12 * np.abs(w).max()
        if self.friction:  # the rows of a contact lie between the same bodies
            linked |= np.kron(np.eye(n // 3, dtype=bool), np.ones((3, 3), bool))
        _, label = connected_components(linked)
        pieces = []  # row, first body, its numbers (.., 12)
        bodies, self.chained = 1, False  # body 0 is the ground
        self.sigma = np.zeros(n)
        for one in np.unique(label):
            at = np.flatnonzero(label == one)
            root, sigma = square_root(w[np.ix_(at, at)])
            self.sigma[at] = sigma
            width = -(-root.shape[1] // PAIR) * PAIR
            padded = np.zeros((len(at), width))
            padded[:, : root.shape[1]] = root
            self.chained |= width > PAIR
            pieces += [(k, bodies, padded[r].reshape(-1, PAIR)) for r, k in enumerate(at.tolist())]
            bodies += 2 * (width // PAIR)
        self.bodies = _unit_bodies(bodies)
        self.rows = self._fill(pieces, q, mu)
        self.rows.units[:] = self.rows.ends

    def _fill(self, pieces, q, mu):
        n = self.count
        more = sum(len(numbers) - 1 for _, _, numbers in pieces)
        self.total = n + more
        rows = in_python(make_rows)(n + more + ROWS_A_CONTACT)
        rows.part[:] = SHARED
        rows.upper[:] = np.inf
        free = n
        for k, body, numbers in pieces:
            last = k
            for turn, one in enumerate(numbers):
                at = k if turn == 0 else free
                rows.J[at], rows.ends[at] = one, (body + 2 * turn, body + 2 * turn + 1)
                if turn > 0:
                    rows.more[last], rows.parent[at], last, free = at, k, at, free + 1
        rows.rhs[:n], rows.sigma[:n], rows.part[:n] = -q, self.sigma, 0
        if self.friction:
            for c in range(3):
                rows.part[c:n:3] = NORMAL - c
            for c in (1, 2):
                rows.parent[c:n:3], rows.mu[c:n:3] = np.arange(0, n, 3), mu
                rows.upper[c:n:3] = 0.0
        return rows

    def _approach(self):
        """Velocities (nb, 6) of bodies that make q, as far as some do; the rest stays in rhs.

        Solvers judge a step by the energy that bodies have before it: q is how contacts close.
        """
        n, wide = self.count, 6 * len(self.bodies.kind)
        u0 = np.zeros(wide)
        if self.friction and not self.chained:
            j = self.jacobian()
            u0 = np.linalg.lstsq(j, -self.rows.rhs[:n], rcond=1e-10)[0]
            self.rows.rhs[:n] += j @ u0
        return u0.reshape(-1, 6)

    def jacobian(self):
        """J (n, 6 nb) of the rows, dense."""
        j = np.zeros((self.count, 6 * len(self.bodies.kind)))
        for k, (a, b) in enumerate(self.rows.ends[: self.count].tolist()):
            j[k, 6 * a : 6 * a + 6] += self.rows.J[k, :6]
            j[k, 6 * b : 6 * b + 6] += self.rows.J[k, 6:]
        return j

    def solve(self, method, passes=20, calls=1):
        """z by a solver of rows, called again from its own impulses; None where it fell back."""
        m, stats = self.total, np.zeros(NSTATS)
        nb = len(self.bodies.kind)
        u0, u, plan = self._approach(), np.zeros((nb, 6)), in_python(no_plan)(nb)
        joints = 0 if self.friction else m
        for _ in range(calls):
            plan = solve_rows(
                METHODS[method], self.rows, joints, m, self.bodies, u0, u, plan, passes, stats
            )
        return self.rows.lam[: self.count].copy() if stats[FAILED] == 0 else None


def _unit_bodies(n):
    """Bodies of unit mass and inertia, each alone; all that rows ask of them."""
    made = BodyArrays(*(np.repeat(one, n, axis=0) for one in no_bodies()))
    made.kind[1:] = DYNAMIC
    made.unit[:], made.count[:] = np.arange(n), 1
    made.w[1:] = made.unit_w[1:] = made.root_w[1:] = 1.0
    made.moments[1:] = made.unit_moments[1:] = 1.0
    made.root[1:] = made.rot[1:] = made.axes[1:] = np.eye(3)
    return made
