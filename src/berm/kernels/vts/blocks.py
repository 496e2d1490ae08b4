"""Constraints of one or two particles, LANES at a time: plain loops that become vector code.

A block b holds number k of its constraint m in b[k * LANES + m]: what pairs of VTS need in every
iteration, 9 numbers or with memory 12, for that is what large beds wait for; `extra` holds the rest
of the row of `vts_law`, `who` their first and then their second particles. Rows are packed into
blocks once a solve, each into its seat (`vts_groups`). A hand s holds what is under way: relative
velocities, inverse masses, and then what changes. Links accumulate no impulse: nothing bounds it,
so nothing asks for it.
"""

from __future__ import annotations

from berm.kernels.jit import inline, inner
from berm.kernels.simd.vec8 import gather4, load, scatter_add4, splat, store
from berm.kernels.vts.law import CONE, LINEAR, LINK, MODE, MOVING, NONE, WALL, answer

LANES = 16
# numbers of a block: n, C or delta, alpha, friction, then impulse and last change; and of its extra
BIAS, ALPHA, MU, IMPULSE, CHANGE = 3 * LANES, 4 * LANES, 5 * LANES, 6 * LANES, 9 * LANES
NUMBERS = 12 * LANES  # the last changes may be left out: large beds wait for memory
BODY, SIZE, BOUNCE, SHARE = 0, 3 * LANES, 4 * LANES, 5 * LANES
EXTRA = 6 * LANES
SPEED, NEW, FIRST_W, SECOND_W = 0, 3 * LANES, 6 * LANES, 7 * LANES
HAND = 8 * LANES
FORGET, START, GO_ON = range(3)  # last changes: none are kept, none are there yet, some are


@inline
def _clear(g, m, block, extra):
    """A seat that does nothing."""
    for k in range(m, block.shape[1], LANES):
        block[g, k] = 0.0
    for k in range(m, EXTRA, LANES):
        extra[g, k] = 0.0


@inner
def pack(kind, linear, first, last, place, groups, memory, seat, filled, ends, row, imp, change,
         who, block, extra):  # fmt: skip
    """Write constraints `first` to `last` into blocks from `place` on; empty seats do nothing.

    linear: only what (28) needs; memory: FORGET, START or GO_ON with last changes.
    """
    for k in range(groups):
        g = place + k
        for m in range(filled[first + k], LANES):
            _clear(g, m, block, extra)
            who[2 * LANES * g + m] = ends[first, 0]
            who[2 * LANES * g + LANES + m] = ends[first, 1]
    for c in range(first, last):
        g, m = place + seat[c] // LANES, seat[c] % LANES
        who[2 * LANES * g + m] = ends[c, 0]
        who[2 * LANES * g + LANES + m] = ends[c, 1]
        b = block[g]
        for e in range(3):
            b[e * LANES + m] = row[c, e]
            b[IMPULSE + e * LANES + m] = imp[c, e]
        if memory != FORGET:
            for e in range(3):
                b[CHANGE + e * LANES + m] = change[c, e] if memory == GO_ON else 0.0
        b[BIAS + m], b[ALPHA + m], b[MU + m] = row[c, 3], row[c, 5], row[c, 6]
        if kind == WALL:
            for e in range(3):
                extra[g, BODY + e * LANES + m] = row[c, 8 + e]
        if kind == LINK or not linear:
            extra[g, SIZE + m] = row[c, 4]
            extra[g, BOUNCE + m] = row[c, 7]
            extra[g, SHARE + m] = row[c, 11]


@inner
def unpack(memory, first, last, place, seat, block, imp, change):
    """Give impulses and their last changes back."""
    for c in range(first, last):
        b, m = block[place + seat[c] // LANES], seat[c] % LANES
        for e in range(3):
            imp[c, e] = b[IMPULSE + e * LANES + m]
        if memory:
            for e in range(3):
                change[c, e] = b[CHANGE + e * LANES + m]


@inline
def _answers(kind, memory, b, x, s, law, friction):
    """New impulses of a whole block, and their changes."""
    for m in range(LANES):
        r = (
            b[m], b[LANES + m], b[2 * LANES + m], b[BIAS + m], x[SIZE + m], b[ALPHA + m], b[MU + m],
            x[BOUNCE + m], x[BODY + m], x[BODY + LANES + m], x[BODY + 2 * LANES + m], x[SHARE + m],
        )  # fmt: skip
        none = r[5] - r[5]
        px, py, pz, qx, qy, qz = none, none, none, none, none, none
        if kind != LINK:
            px, py, pz = b[IMPULSE + m], b[IMPULSE + LANES + m], b[IMPULSE + 2 * LANES + m]
        if memory:
            qx, qy, qz = b[CHANGE + m], b[CHANGE + LANES + m], b[CHANGE + 2 * LANES + m]
        fx, fy, fz = answer(
            kind, r, s[SPEED + m], s[SPEED + LANES + m], s[SPEED + 2 * LANES + m], px, py, pz, qx,
            qy, qz, law, friction,
        )  # fmt: skip
        if kind != LINK:
            b[IMPULSE + m], b[IMPULSE + LANES + m], b[IMPULSE + 2 * LANES + m] = fx, fy, fz
        fx, fy, fz = fx - px, fy - py, fz - pz
        s[NEW + m], s[NEW + LANES + m], s[NEW + 2 * LANES + m] = fx, fy, fz
        if memory:
            b[CHANGE + m], b[CHANGE + LANES + m], b[CHANGE + 2 * LANES + m] = fx, fy, fz


@inline
def _look(kind, k, half, who, x, s, old):
    """Relative velocities and inverse masses of eight constraints."""
    ax, ay, az, aw = gather4(old, load(who, 2 * LANES * k + half))
    store(s, FIRST_W + half, aw)
    if kind == WALL:
        bx = load(x, BODY + half)
        by = load(x, BODY + LANES + half)
        bz = load(x, BODY + 2 * LANES + half)
    else:
        bx, by, bz, bw = gather4(old, load(who, 2 * LANES * k + LANES + half))
        store(s, SECOND_W + half, bw)
    store(s, SPEED + half, ax - bx)
    store(s, SPEED + LANES + half, ay - by)
    store(s, SPEED + 2 * LANES + half, az - bz)


@inline
def _move(kind, k, half, who, s, v):
    """Velocities of the particles of eight constraints, by what has changed."""
    fx = load(s, NEW + half)
    fy = load(s, NEW + LANES + half)
    fz = load(s, NEW + 2 * LANES + half)
    none = splat(s[0] - s[0])
    w = load(s, FIRST_W + half)
    scatter_add4(v, load(who, 2 * LANES * k + half), 0, (w * fx, w * fy, w * fz, none))
    if kind != WALL:
        w = none - load(s, SECOND_W + half)
        to = load(who, 2 * LANES * k + LANES + half)
        scatter_add4(v, to, 0, (w * fx, w * fy, w * fz, none))


@inline
def respond(kind, memory, place, groups, who, block, extra, s, old, v, law, friction):
    """Answer `groups` blocks from `place` on: impulses from velocities `old`, which move v.

    memory: whether they remember their last change. With v for `old` too it is a sweep of
    Gauss-Seidel, if no two of a block share a particle.
    """
    for k in range(place, place + groups):
        b, x = block[k], extra[k]
        for half in range(0, LANES, 8):
            _look(kind, k, half, who, x, s, old)
        # the usual cases, with nothing left to ask inside the loop
        if kind == LINK and law[MODE] == MOVING:
            moving = (law[0], law[1], law[2], law[3], law[4], MOVING)
            _answers(kind, memory, b, x, s, moving, NONE)
        elif friction == CONE and law[MODE] == LINEAR:
            linear = (law[0], law[1], law[2], law[3], law[4], LINEAR)
            _answers(kind, memory, b, x, s, linear, CONE)
        else:
            _answers(kind, memory, b, x, s, law, friction)
        for half in range(0, LANES, 8):
            _move(kind, k, half, who, s, v)
