"""What iterations start from: constraints of each particle counted, last impulses given to them.

Both go through the units of constraints by colours, as the iterations do: units of one colour share
no particle, so nothing races, and every sum has one order.
"""

from __future__ import annotations

from berm.kernels.jit import inner, pjit, prange
from berm.kernels.vts.law import FACE, WALL


@inner
def _count(u, unit, kind, first, last, ends, quad, qbase, degree):
    for b in range(unit[u], unit[u + 1]):
        for c in range(first[b], last[b]):
            if kind[b] >= FACE:
                for m in range(4):
                    if quad[c - qbase, m] >= 0:
                        degree[quad[c - qbase, m]] += 1
            else:
                degree[ends[c, 0]] += 1
                if kind[b] != WALL:
                    degree[ends[c, 1]] += 1


@pjit
def count(unit, colour, turn, kind, first, last, ends, quad, qbase, degree):
    """Add the number of constraints of each particle, n_b of [Francu14] after (27), to `degree`."""
    for k in range(colour.shape[0] - 1):
        for m in prange(colour[k], colour[k + 1]):
            _count(turn[m], unit, kind, first, last, ends, quad, qbase, degree)


@inner
def _push(u, unit, kind, first, last, ends, quad, coef, grad, qbase, imp, v):
    for b in range(unit[u], unit[u + 1]):
        for c in range(first[b], last[b]):
            px, py, pz = imp[c, 0], imp[c, 1], imp[c, 2]
            if kind[b] < FACE:
                i = ends[c, 0]
                w = v[i, 3]
                v[i, 0], v[i, 1], v[i, 2] = v[i, 0] + w * px, v[i, 1] + w * py, v[i, 2] + w * pz
                if kind[b] != WALL:
                    j = ends[c, 1]
                    w = v[j, 3]
                    v[j, 0], v[j, 1], v[j, 2] = v[j, 0] - w * px, v[j, 1] - w * py, v[j, 2] - w * pz
                continue
            for m in range(4):
                p, k = quad[c - qbase, m], c - qbase
                if p < 0:
                    continue
                if kind[b] == FACE:
                    w = coef[k, m] * v[p, 3]
                    v[p, 0] += w * px
                    v[p, 1] += w * py
                    v[p, 2] += w * pz
                else:
                    w = v[p, 3] * px
                    v[p, 0] += w * grad[k, m, 0]
                    v[p, 1] += w * grad[k, m, 1]
                    v[p, 2] += w * grad[k, m, 2]


@pjit
def push(unit, colour, turn, kind, first, last, ends, quad, coef, grad, qbase, imp, v):
    """v += W J^T imp, (27)."""
    for k in range(colour.shape[0] - 1):
        for m in prange(colour[k], colour[k + 1]):
            _push(turn[m], unit, kind, first, last, ends, quad, coef, grad, qbase, imp, v)
