"""Contacts with bodies in the published form of P2: which are active, and their corrections.

Active contacts of slab s stand packed, eight read at a time: rows[s], from[s] (their place among
those that were found), face[s] (cap, 8) = normal, offset (m), motion of the wall in this substep
(m), factor (28) of the spring, law[s] (cap, 4) = that of the damper, mu_k, 1 / mu_s, adhesion, and
push[s] (cap, 4) = the sum of their corrections.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inner
from berm.kernels.p2.law import (
    ADHESIVE,
    EPS,
    FRACTION,
    GX,
    INV_H,
    OVERLAP_MAX,
    SHARE,
    STATS,
    T_ADHESION,
    T_C,
    T_K,
    T_MU_K,
    T_MU_S,
    UP_X,
    UP_Y,
    UP_Z,
    contact_area,
)
from berm.kernels.p2.published_law import excess, root_factor, shares
from berm.kernels.simd.vec8 import (
    fma,
    gather8_at,
    iota32,
    lane,
    load4,
    load8,
    scatter_add4_at,
    select,
    splat,
    store4,
)


@inner
def choose_walls(
    s, count, rows, bodies, planes, t_count, t_rows, t_from, t_face, t_law, t_push, row, mat, nmat,
    body_mat, table, par, iterations, retest,
):  # fmt: skip
    """Pack the contacts that touch, or all where that is tested anew in each iteration."""
    share = par[SHARE]
    over = par[FRACTION] + share
    known = -1.0
    known_pair = -1
    root = 0.0
    k = 0
    for b in range(count[s]):
        i = rows[s, b]
        if row[i, 7] == 0.0:  # fixed
            continue
        p = planes[s, b]
        offset = p[3] + over * (p[0] * p[4] + p[1] * p[5] + p[2] * p[6])
        gap = p[0] * row[i, 0] + p[1] * row[i, 1] + p[2] * row[i, 2] - offset - row[i, 3]
        gap += p[0] * row[i, 4] + p[1] * row[i, 5] + p[2] * row[i, 6]
        if not (retest or gap <= 0.0):
            continue
        pair = mat[i] * nmat + body_mat[bodies[s, b]]
        if row[i, 7] != known or pair != known_pair:
            known = row[i, 7]
            known_pair = pair
            root = root_factor(table[T_K, pair], table[T_C, pair], row[i, 7], iterations)
        spring, damper = shares(table, pair)
        t_rows[s, k] = i
        t_from[s, k] = b
        face = t_face[s, k]
        face[0], face[1], face[2], face[3] = p[0], p[1], p[2], offset
        face[4], face[5], face[6], face[7] = share * p[4], share * p[5], share * p[6], root * spring
        law = t_law[s, k]
        law[0], law[1] = root * damper, table[T_MU_K, pair]
        law[2], law[3] = 1.0 / table[T_MU_S, pair], table[T_ADHESION, pair]
        k += 1
    t_count[s] = k
    for idle in range(k, (k + 7) // 8 * 8):
        t_rows[s, idle] = t_rows[s, k - 1]
        for c in range(8):
            t_face[s, idle, c] = 0.0
        for c in range(4):
            t_law[s, idle, c] = 0.0
    for b in range((k + 7) // 8 * 8):
        for c in range(4):
            t_push[s, b, c] = 0.0


@inner
def correct_walls(s, number, rows, face, law, push, row, par, flags, retest, shift, acc, stats):
    """Add the corrections by bodies, before averaging, to `push` and to the slab's sums."""
    none = par[GX] - par[GX]
    zero = splat(none)
    one = splat(none + np.float32(1.0))
    pi = splat(none + np.float32(np.pi))
    up_x = splat(par[EPS] * par[UP_X])
    up_y = splat(par[EPS] * par[UP_Y])
    up_z = splat(par[EPS] * par[UP_Z])
    end = splat(np.int32(number))
    glue = zero
    for b in range(0, number, 8):
        x, y, z, r, ux, uy, uz, w = gather8_at(row, rows, b)
        nx, ny, nz, offset, mx, my, mz, k = load8(face, b)
        c, mu_k, free, stick = load4(law, b)
        gap = fma(nx, x, fma(ny, y, fma(nz, z, zero - offset))) - r
        gap = gap + fma(nx, ux, fma(ny, uy, nz * uz))
        touching = iota32(b) < end
        if retest:
            touching = touching & (gap <= zero)
        on = select(touching, one, zero)
        if flags & ADHESIVE:
            glue = stick * pi * contact_area(gap, zero, r, r, zero, one) * w
        lx, ly, lz = excess(
            nx, ny, nz, ux - mx, uy - my, uz - mz, gap, k, c, mu_k, free, glue, one, flags
        )
        lean = -fma(on, fma(nx, up_x, fma(ny, up_y, nz * up_z)), on)
        px = lean * lx
        py = lean * ly
        pz = lean * lz
        sx, sy, sz, number_of = load4(push, b)
        store4(push, b, (sx + px, sy + py, sz + pz, number_of))
        scatter_add4_at(acc, rows, b, shift, (px, py, pz, on))
        if flags & STATS:
            for m in range(8):
                if lane(on, m) > 0.0:
                    stats[s, OVERLAP_MAX] = max(stats[s, OVERLAP_MAX], -lane(gap, m))


@inner
def note_forces(s, number, rows, origin, push, row, w_total, par, shift, acc):
    """Add what averaged corrections (9) push bodies with (34), and begin a new sum."""
    weight = par[INV_H] * par[INV_H] * par[SHARE]
    for b in range(number):
        i = rows[b]
        scale = weight / (row[i, 7] * max(acc[shift + i, 3], np.float32(1.0)))
        for c in range(3):
            w_total[s, origin[b], c] += scale * push[b, c]
            push[b, c] = 0.0
