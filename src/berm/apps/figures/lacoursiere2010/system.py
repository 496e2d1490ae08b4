"""The system matrix H of (1), [M -G^T; G Sigma], from the rows that the core is about to solve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from berm.core.bodies import DYNAMIC
from berm.core.rotations import matrix_of
from berm.kernels.multibody import solve, substep
from berm.kernels.multibody.contact_rows import NORMAL
from berm.kernels.multibody.joints import SHARED
from berm.solvers.nonsmooth.solver import Nonsmooth
from berm.world.world import World

Array = npt.NDArray[Any]

RANK = 1e-9  # of the largest singular value: less is none
JOINT, CONTACT, FRICTION = range(3)  # kinds of rows


@dataclass(frozen=True)
class System:
    """M (6 n, 6 n) of n bodies, G (m, 6 n) and sigma (m,), in the core's order: joints first.

    body (n,): rows of the bodies in the world. kind (m,): of each row; ends (m, 2): the first two
    bodies that it joins; lam (m,): its impulse in the step before, N s. rows, head: the kernels'
    rows, and which of them each row here is.
    """

    M: Any
    G: Any
    sigma: Array
    body: Array
    kind: Array
    ends: Array
    lam: Array
    rows: Any
    head: Array
    arrays: Any

    def matrix(self, chosen: Array | None = None) -> Any:
        """H of all rows, or of those that are chosen (m,)."""
        keep = np.ones(len(self.sigma), bool) if chosen is None else chosen
        g = self.G[keep]
        return sp.bmat([[self.M, -g.T], [g, sp.diags(self.sigma[keep])]], format="csc")

    def pressing(self) -> Array:
        """Rows that a direct solve of joints and normals holds: (m,) bool."""
        return (self.kind == JOINT) | ((self.kind == CONTACT) & (self.lam > 0.0))

    def numbers(self) -> dict[str, Any]:
        """Size, non-zeros, bandwidth; rows, degrees of freedom, rank; contacts a body."""
        h = self.matrix()
        narrow = reverse_cuthill_mckee(h.tocsr(), symmetric_mode=True)
        touching = (self.kind == CONTACT) & (self.lam > 0.0)
        each = np.bincount(self.ends[touching].ravel(), minlength=self.body.max() + 1)[self.body]
        values = np.linalg.svd(self.G.toarray(), compute_uv=False)
        return {
            "bodies": len(self.body), "dof": 6 * len(self.body), "rows": len(self.sigma),
            "rank": int((values > RANK * values[0]).sum()),
            "size": h.shape[0], "nonzeros": int(h.nnz),
            "nonzeros_a_row": round(h.nnz / h.shape[0], 2),
            "bandwidth": bandwidth(h),
            "bandwidth_reordered": bandwidth(h, narrow),
            "contacts_pressing": int(touching.sum()),
            "contacts_a_body": round(float(each.mean()), 2), "contacts_most": int(each.max()),
            "sigma_of_mass": float(np.median(self.sigma) * np.median(self.M.diagonal())),
        }  # fmt: skip


def system_of(world: World) -> System:
    """Make the rows of the coming step, of bodies that are not merged; the world stays as it is."""
    solver, state = world.solver, world.state()
    assert isinstance(solver, Nonsmooth)
    multi, h = solver.multibody, world.dt / solver.substeps
    multi.follow(world)
    means = multi.means(world.gravity, h)._replace(method=solve.SWEEPS, passes=0)
    _, rows, _, m, *_ = substep.begin(
        multi.arrays, multi.joints, world.bodies.tag, multi.table.arrays, multi.solids, means,
        np.asarray(world.gravity), h, multi.memory, np.zeros_like(multi.stats),
    )  # fmt: skip
    arrays = type(multi.arrays)(*(np.array(one) for one in multi.arrays))
    world.restore(state)
    body = np.flatnonzero(arrays.kind == DYNAMIC)
    place = np.full(len(arrays.kind), -1)
    place[body] = np.arange(len(body))
    head = np.flatnonzero(rows.part[:m] != SHARED)
    part = rows.part[head]
    kind = np.where(part >= 0, JOINT, np.where(part == NORMAL, CONTACT, FRICTION))
    return System(
        _masses(arrays, body), _gradients(rows, head, place, 6 * len(body)), rows.sigma[head],
        body, kind, rows.ends[head], rows.lam[head], rows, head, arrays,
    )  # fmt: skip


def _masses(arrays: Any, body: Array) -> Any:
    blocks = []
    for b in body:
        turn = matrix_of(arrays.q[b])
        blocks += [np.eye(3) / arrays.w[b], turn @ np.diag(arrays.moments[b]) @ turn.T]
    return sp.block_diag(blocks, format="csr")


def _gradients(rows: Any, head: Array, place: Array, width: int) -> Any:
    """G, where rows that share a multiplier are one."""
    at: list[int] = []
    column: list[int] = []
    value: list[float] = []
    for k, first in enumerate(head):
        row = int(first)
        while row >= 0:
            for side in range(2):
                b = place[rows.ends[row, side]]
                if b >= 0:
                    at += [k] * 6
                    column += range(6 * b, 6 * b + 6)
                    value += rows.G[row, 6 * side : 6 * side + 6].tolist()
            row = int(rows.more[row])
    made = sp.csr_matrix((value, (at, column)), shape=(len(head), width))
    made.eliminate_zeros()
    return made


def bandwidth(matrix: Any, order: Array | None = None) -> int:
    """The farthest that an entry is from the diagonal, in an order."""
    found = matrix.tocoo()
    place = np.arange(matrix.shape[0])
    if order is not None:
        place = np.empty_like(place)
        place[order] = np.arange(len(order))
    return int(np.abs(place[found.row] - place[found.col]).max())
