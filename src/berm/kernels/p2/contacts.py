"""Eight contacts at a time: from the rows of two grains, or of a grain and a wall, to impulses.

A grain's row of sixteen numbers, one cache line, holds what a substep needs: position at its start
and radius; displacement with the remembered part of the impulses, and inverse mass; displacement
with the whole impulses, and the number of contacts that push; velocity, and how far (m) the grain
may go in any direction before the list has to be asked whether it still holds. Both forms that
keep impulses, `kernels.p2.sweep` and `kernels.p2.mass`, build on this.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import bare, inline
from berm.kernels.p2.law import (
    ACCELERATED,
    ADHESIVE,
    BETA,
    CONTACTS,
    FRACTION,
    GIVE2,
    GIVE3,
    GX,
    LAST,
    MEMORY,
    OVERLAP_MAX,
    OVERLAP_SUM,
    RELAX,
    SHARE,
    SLIP,
    T_ADHESION,
    T_C,
    T_K,
    T_MU_K,
    T_MU_S,
    TOUCH,
    WEIGHT,
    H,
    contact_area,
    respond,
)
from berm.kernels.search.neighbours import off_its_way
from berm.kernels.simd.vec8 import (
    fma,
    gather12,
    iota32,
    lane,
    load,
    load4,
    load8,
    quad_of,
    select,
    set_quad,
    splat,
    store,
    store4,
    take,
    vmax,
    vsqrt,
)

ROOM = 15  # number of a row: how far the grain may go
TINY = 1e-20  # m^2: closer centres have no direction


@inline
def constants(par, table, common):
    """What all contacts of a pass share, in eight lanes each."""
    zero = par[GX] - par[GX]
    pair = max(common, 0)
    return (
        splat(zero), splat(zero + np.float32(1.0)), splat(zero + np.float32(TINY)),
        splat(zero + np.float32(np.pi)), splat(par[MEMORY]), splat(par[RELAX]), splat(par[SLIP]),
        splat(par[BETA]), splat(par[TOUCH]),
        splat(table[T_K, pair]), splat(table[T_C, pair]), splat(table[T_MU_S, pair]),
        splat(table[T_MU_K, pair]), splat(table[T_ADHESION, pair]),
    )  # fmt: skip


@inline
def pair_response(
    rows, own, j, partner, slot, law, scale, imp, last, mat, nmat, common, table, flags
):
    """Impulses of eight pairs of rows `own` and `partner`; their last ones, gap and approach."""
    zero, one, tiny, pi, memory, _, slip, beta, _, k, c, mu_s, mu_k, stick = law
    xi, yi, zi, ri, ui, vi, wi, mi, di, ei, fi, _ = own
    xj, yj, zj, rj, uj, vj, wj, mj, dj, ej, fj, _ = partner
    ux = ui - uj
    uy = vi - vj
    uz = wi - wj
    nx = (xi - xj) + ux
    ny = (yi - yj) + uy
    nz = (zi - zj) + uz
    far2 = vmax(fma(nx, nx, fma(ny, ny, nz * nz)), tiny)
    far = vsqrt(far2)
    over = far * (one / far2)
    # idle lanes hold their own row; coincident centres have no normal: take up
    nx = nx * over
    ny = ny * over
    nz = select(far2 > tiny, nz * over, one)
    mass = scale * (mi + mj)
    moves = mass > zero  # two fixed grains do nothing
    mass = select(moves, mass, one)
    gap = select((rows != j) & moves, far - (ri + rj), one)  # C_s (22)
    approach = fma(ux, nx, fma(uy, ny, uz * nz))  # C_d (17)
    px = load(imp, 24 * slot)
    py = load(imp, 24 * slot + 8)
    pz = load(imp, 24 * slot + 16)
    if common < 0:
        pair = take(mat, rows) * splat(np.int32(nmat)) + take(mat, j)
        k = take(table[T_K], pair)
        c = take(table[T_C], pair)
        mu_s = take(table[T_MU_S], pair)
        mu_k = take(table[T_MU_K], pair)
        stick = take(table[T_ADHESION], pair)
    glue = zero
    if flags & ADHESIVE:
        glue = stick * pi * contact_area(gap, approach, ri, rj, zero, one, flags)
    dx = zero
    dy = zero
    dz = zero
    if flags & ACCELERATED:
        dx = load(last, 24 * slot)
        dy = load(last, 24 * slot + 8)
        dz = load(last, 24 * slot + 16)
    fx, fy, fz = respond(
        nx, ny, nz, approach, di - dj, ei - ej, fi - fj, gap, mass, px, py, pz,
        memory, k, c, mu_s, mu_k, glue, slip, dx, dy, dz, beta, zero, one, flags,
    )  # fmt: skip
    store(imp, 24 * slot, fx)
    store(imp, 24 * slot + 8, fy)
    store(imp, 24 * slot + 16, fz)
    if last.shape[0] > 0:
        store(last, 24 * slot, fx - px)
        store(last, 24 * slot + 8, fy - py)
        store(last, 24 * slot + 16, fz - pz)
    return fx, fy, fz, px, py, pz, gap, approach


@bare
def note_overlaps(s, total, most, number, stats):
    """Add a slab's overlaps to its statistics."""
    for m in range(8):
        stats[s, OVERLAP_SUM] += lane(total, m)
        stats[s, OVERLAP_MAX] = max(stats[s, OVERLAP_MAX], lane(most, m))
        stats[s, CONTACTS] += lane(number, m)


@bare
def note_give(s, squares, cubes, stats):
    """Add a slab's sums of how far contacts give way."""
    for m in range(8):
        stats[s, GIVE2] += lane(squares, m)
        stats[s, GIVE3] += lane(cubes, m)


@inline
def wall_response(
    b, number, turn, law, scale, rows_of, bodies, planes, imps, totals, row, mat, nmat, body_mat,
    table, par, flags,
):  # fmt: skip
    """Impulses of eight contacts with bodies, their last ones, grains, inverse masses, gaps.

    turn: which contacts of a grain in this block are answered, the first, second ...; -1: all.
    """
    zero, one, _, pi, memory, _, slip, _, _, _, _, _, _, _ = law
    valid = iota32(b) < splat(np.int32(number))
    rows = select(valid, load(rows_of, b), splat(rows_of[b]))
    pair = take(mat, rows) * splat(np.int32(nmat)) + take(
        body_mat, select(valid, load(bodies, b), splat(bodies[b]))
    )
    nx, ny, nz, offset, mx, my, mz, place = load8(planes, b)
    if turn >= 0:
        valid = valid & (place == splat(par[GX] - par[GX] + np.float32(turn)))
    ox, oy, oz, rest = load4(imps, b)
    px = select(valid, ox, zero)
    py = select(valid, oy, zero)
    pz = select(valid, oz, zero)
    xi, yi, zi, ri, ui, vi, wi, mi, di, ei, fi, _ = gather12(row, rows)
    share = splat(par[SHARE])
    moved = fma(nx, mx, fma(ny, my, nz * mz))
    way = fma(nx, ui, fma(ny, vi, nz * wi))
    gap = fma(nx, xi, fma(ny, yi, fma(nz, zi, zero - offset))) - ri
    gap = gap - (splat(par[FRACTION]) + share) * moved + way
    moves = valid & (mi > zero)  # a fixed grain does not meet bodies that are not dynamic
    gap = select(moves, gap, one)
    approach = way - share * moved
    glue = zero
    if flags & ADHESIVE:
        area = pi * contact_area(gap, approach, ri, ri, zero, one, flags)
        glue = take(table[T_ADHESION], pair) * area
    fx, fy, fz = respond(
        nx, ny, nz, approach,
        fma(zero - share, mx, di), fma(zero - share, my, ei), fma(zero - share, mz, fi),
        gap, select(moves, scale * mi, one), px, py, pz, memory,
        take(table[T_K], pair), take(table[T_C], pair), take(table[T_MU_S], pair),
        take(table[T_MU_K], pair), glue, slip, zero, zero, zero, zero, zero, one,
        flags & ~ACCELERATED,
    )  # fmt: skip
    fx = select(valid, fx, zero)
    fy = select(valid, fy, zero)
    fz = select(valid, fz, zero)
    # lanes that are not answered now keep what they have
    store4(imps, b, (select(valid, fx, ox), select(valid, fy, oy), select(valid, fz, oz), rest))
    if flags & LAST:
        weight = splat(par[WEIGHT])
        tx, ty, tz, rest = load4(totals, b)
        store4(totals, b, (tx + fx * weight, ty + fy * weight, tz + fz * weight, rest))
    return rows, valid, fx, fy, fz, px, py, pz, mi, ri, gap, approach


@bare
def predict_row(i, x, v, warm, row, par, split):
    """Row i before contacts (2), plus what the impulses of the last substep do."""
    for c in range(3):
        free = par[H] * v[i, c] + par[GX + c]
        if v[i, 3] == 0.0:
            free = par[GX] - par[GX]  # a fixed grain stays
        row[i, c] = x[i, c]
        row[i, 4 + c] = free + par[MEMORY] * warm[i, c]
        row[i, 8 + c] = free + warm[i, c]
        row[i, 12 + c] = v[i, c]
    row[i, 3] = x[i, 3]
    row[i, 7] = split
    row[i, 11] = par[GX] - par[GX]


@inline
def gravity_of(par):
    """Displacement by gravity in a substep, in four lanes of which the last is zero."""
    none = par[GX] - par[GX]
    return quad_of(par[GX], par[GX + 1], par[GX + 2], none)


@bare
def astray(i, here, moved, ref):
    """Whether grain i will have left the way that the list was made for in the next substep."""
    return off_its_way(
        i, lane(here, 0) + lane(moved, 0), lane(here, 1) + lane(moved, 1),
        lane(here, 2) + lane(moved, 2), ref,
    )  # fmt: skip


@inline
def set_row(i, here, kept, full, row):
    """Write row i: position and radius, displacement and inverse mass, displacement."""
    set_quad(row, 4 * i, here)
    set_quad(row, 4 * i + 1, kept)
    set_quad(row, 4 * i + 2, full)
