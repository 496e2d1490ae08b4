"""The published corrections, applied one after the other: Gauss-Seidel, on one thread.

For comparison with the parallel forms ([Holz14] Fig. 1 and 5). Walls first, then the pairs in
list order, each correction at once: (23), (32)-(33), (35)-(36) with the factors (28).
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import jit
from berm.kernels.p2_count import (
    integrate_slab,
    predict_slab,
    root_factor,
    wall_correction,
    wall_gap,
)
from berm.kernels.p2_mass import (
    ADHESIVE,
    FRACTION,
    INV_H,
    SHARE,
    T_ADHESION,
    T_C,
    T_K,
    T_MU_K,
    T_MU_S,
)


@jit
def _pair(i, j, slot, m, imp, x, u, pair, table, flags, retest, count, stats):
    far2 = 0.0
    normal_ = np.empty(3)
    rel = np.empty(3)
    for c in range(3):
        rel[c] = u[i, c] - u[j, c]
        normal_[c] = x[i, c] - x[j, c] + rel[c]
        far2 += normal_[c] ** 2
    far = np.sqrt(far2)
    gap = far - x[i, 3] - x[j, 3]
    if (gap > 0.0) if retest else (imp[24 * slot + 8 + m] == 0.0):
        return
    if far > 1e-20:
        for c in range(3):
            normal_[c] /= far
    else:
        normal_[2] = 1.0
    w = u[i, 3] + u[j, 3]
    approach = rel[0] * normal_[0] + rel[1] * normal_[1] + rel[2] * normal_[2]
    k = table[T_K, pair]
    c_ = table[T_C, pair]
    normal = -imp[24 * slot + m] * (k * gap + c_ * approach) / max(k + c_, 1e-30)
    cap_s = table[T_MU_S, pair] * abs(normal)
    cap_k = table[T_MU_K, pair] * abs(normal)
    if flags & ADHESIVE:
        small = min(x[i, 3], x[j, 3])
        depth = min(max(-gap, 0.0), small) / small
        glue = table[T_ADHESION, pair] * np.pi * small**2 * (1.0 - (depth - 1.0) ** 2) * w
        normal -= min(max(approach + normal, 0.0), glue)
        cap_s += glue
        cap_k += glue
    slide = 0.0
    for c in range(3):
        slide += (rel[c] - approach * normal_[c]) ** 2
    slide = np.sqrt(slide)
    share = 1.0
    if slide > cap_s:
        share = min(cap_k / slide, 1.0)
    for c in range(3):
        push = normal * normal_[c] - share * (rel[c] - approach * normal_[c])
        u[i, c] += u[i, 3] / w * push
        u[j, c] -= u[j, 3] / w * push
    if count:
        stats[0, 0] += max(-gap, 0.0)
        stats[0, 1] = max(stats[0, 1], -gap)
        stats[0, 2] += 1.0


@jit
def _prepare(slab, lanes, ptr, nbr, imp, x, u, mat, nmat, table, iterations):
    known = -1.0
    known_pair = -1
    factor = 0.0
    for q in range(ptr.shape[0] - 1):
        for slot in range(ptr[q], ptr[q + 1]):
            for m in range(8):
                i = lanes[8 * q + m]
                j = nbr[8 * slot + m]
                pair = mat[i] * nmat + mat[j]
                if u[i, 3] + u[j, 3] != known or pair != known_pair:
                    known = u[i, 3] + u[j, 3]
                    known_pair = pair
                    factor = root_factor(table[T_K, pair], table[T_C, pair], known, iterations)
                imp[24 * slot + m] = factor
                far2 = 0.0
                for c in range(3):
                    far2 += (x[i, c] - x[j, c] + u[i, c] - u[j, c]) ** 2
                hit = i != j and far2 <= (x[i, 3] + x[j, 3]) ** 2
                imp[24 * slot + 8 + m] = 1.0 if hit else 0.0


@jit
def solve(
    slab, lanes, ptr, nbr, imp, x, v, u, mat, nmat, table, w_count, w_rows, w_body, w_plane, w_imp,
    w_total, body_mat, par, flags, iterations, substeps, retest, reach, base, acc, stats,
):  # fmt: skip
    """All iterations of a step, one contact after the other."""
    n = slab.shape[0] - 1
    push = np.zeros(3, x.dtype)
    for sub in range(substeps):
        par[FRACTION] = sub / substeps
        par[SHARE] = 1.0 / substeps
        for s in range(n):
            predict_slab(s, slab, v, u, par)
        _prepare(slab, lanes, ptr, nbr, imp, x, u, mat, nmat, table, iterations)
        for s in range(n):
            for b in range(w_count[s]):
                i = w_rows[s, b]
                pair = mat[i] * nmat + body_mat[w_body[s, b]]
                w_imp[s, b, 3] = root_factor(
                    table[T_K, pair], table[T_C, pair], v[i, 3], iterations
                )
                w_plane[s, b, 7] = 1.0 if wall_gap(s, b, i, w_plane, x, u, par) <= 0.0 else 0.0
        weight = par[INV_H] * par[INV_H] * par[SHARE]
        for it in range(iterations):
            count = it == iterations - 1 and sub == substeps - 1
            for s in range(n):
                for b in range(w_count[s]):
                    i = w_rows[s, b]
                    pair = mat[i] * nmat + body_mat[w_body[s, b]]
                    gap = wall_correction(
                        s, b, i, pair, w_body, w_plane, w_imp, x, u, v[i, 3], table, par, flags,
                        push,
                    )  # fmt: skip
                    if (gap <= 0.0) if retest else (w_plane[s, b, 7] > 0.0):
                        for c in range(3):
                            u[i, c] += push[c]
                            w_total[s, b, c] += weight * push[c] / v[i, 3]
                        if count:
                            stats[0, 1] = max(stats[0, 1], -gap)
            for q in range(ptr.shape[0] - 1):
                for slot in range(ptr[q], ptr[q + 1]):
                    for m in range(8):
                        i = lanes[8 * q + m]
                        j = nbr[8 * slot + m]
                        if i != j:
                            pair = mat[i] * nmat + mat[j]
                            _pair(i, j, slot, m, imp, x, u, pair, table, flags, retest, count, stats)
        for s in range(n):
            integrate_slab(s, slab, x, v, u, par, stats)
