"""Contacts of dynamic bodies as constraints on velocities: serial Gauss-Seidel, [Francu14] (29).

Rows are those of `vts_law`, in float64, and longer: arms of both bodies (m), inverse masses along
and across the normal. The first rows join a particle and a body, ends = (particle, body); the rest
two bodies; normals point from the second to the first. fly (nb, 9): velocity and angular velocity
of each body as the iterations go, and the angular impulse that it got; w, inv as in `rigid_motion`.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.jit import inner, jit
from berm.kernels.multibody.rigid_contacts import (
    BOUNCE,
    EDGE,
    GAP,
    MU_K,
    MU_S,
    RECOVER,
    SLOT,
    from_shape,
)
from berm.kernels.multibody.rigid_motion import at_point, shift
from berm.kernels.vts.contacts import BENT, BOUNCE_FROM, DT, GAMMA, SLIP, TOLERANCE
from berm.kernels.vts.law import (
    INV_H,
    K_C,
    K_V,
    LINEAR,
    MODE,
    MOVING,
    RELAXED,
    ROW,
    H,
    project,
    tangents,
)

ARM_A, ARM_B, W_N, W_T, MASS = ROW, ROW + 3, ROW + 6, ROW + 7, ROW + 8
WIDTH = ROW + 17
SMALL = 1e-6  # rad: less is no turn


@inner
def _bias(gap, speed, e, law):
    """Row entries [3] and [7], as `vts_contacts._bias`, but an open gap may close in full.

    What would overlap by no more than gravity does in a step closes first and bounces in the next:
    else the rim of a rolling wheel would bounce.
    """
    share = law[GAMMA] if gap < 0.0 else 1.0
    bounce = 0.0
    least = 0.5 * law[DT] * law[BOUNCE_FROM]
    if speed < -law[BOUNCE_FROM] and share * gap + law[DT] * speed < -least:
        bounce = e * speed
    if law[BENT] != 0.0:
        return gap, bounce
    return min(share * gap / law[DT], bounce) if bounce < 0.0 else share * gap / law[DT], bounce


@inner
def _weigh(c, first, ends, row, v, w, inv):
    """Inverse mass K (3, 3) at the contact, u += K p; the normal's part, and the largest across it.

    K = w - [r] I^-1 [r] for each partner, [Mueller20] (2); for a grain w alone.
    """
    k = row[c, MASS : MASS + 9].reshape(3, 3)
    for i in range(3):
        for j in range(3):
            k[i, j] = 0.0
    for side in range(2):
        b = ends[c, side]
        light = np.float64(v[b, 3]) if side == 0 and c < first else w[b]
        for i in range(3):
            k[i, i] += light
        if (side == 0 and c < first) or light == 0.0:
            continue
        r = row[c, ARM_A + 3 * side : ARM_A + 3 * side + 3]
        for j in range(3):
            ex = 1.0 if j == 0 else 0.0
            ey = 1.0 if j == 1 else 0.0
            ez = 1.0 if j == 2 else 0.0
            tx, ty, tz = r[1] * ez - r[2] * ey, r[2] * ex - r[0] * ez, r[0] * ey - r[1] * ex
            ox = inv[b, 0, 0] * tx + inv[b, 0, 1] * ty + inv[b, 0, 2] * tz
            oy = inv[b, 1, 0] * tx + inv[b, 1, 1] * ty + inv[b, 1, 2] * tz
            oz = inv[b, 2, 0] * tx + inv[b, 2, 1] * ty + inv[b, 2, 2] * tz
            k[0, j] += oy * r[2] - oz * r[1]
            k[1, j] += oz * r[0] - ox * r[2]
            k[2, j] += ox * r[1] - oy * r[0]
    ax, ay, az, bx, by, bz = tangents(row[c, 0], row[c, 1], row[c, 2])
    normal, one, two, mixed = 0.0, 0.0, 0.0, 0.0
    n, s, t = row[c, :3], (ax, ay, az), (bx, by, bz)
    for i in range(3):
        for j in range(3):
            normal += n[i] * k[i, j] * n[j]
            one += s[i] * k[i, j] * s[j]
            two += t[i] * k[i, j] * t[j]
            mixed += s[i] * k[i, j] * t[j]
    row[c, W_N] = normal
    row[c, W_T] = 0.5 * (one + two) + math.sqrt(0.25 * (one - two) ** 2 + mixed * mixed)


@inner
def _speed(c, first, ends, row, v, fly):
    """Velocity of the first partner against the second at the contact."""
    a, b = ends[c, 0], ends[c, 1]
    bx, by, bz = at_point(b, fly, row[c, ARM_B], row[c, ARM_B + 1], row[c, ARM_B + 2])
    if c < first:
        ax, ay, az = np.float64(v[a, 0]), np.float64(v[a, 1]), np.float64(v[a, 2])
    else:
        ax, ay, az = at_point(a, fly, row[c, ARM_A], row[c, ARM_A + 1], row[c, ARM_A + 2])
    return ax - bx - row[c, 8], ay - by - row[c, 9], az - bz - row[c, 10]


@inner
def _push(c, first, ends, row, px, py, pz, v, fly, w, inv):
    """Equal and opposite impulse p (N s) on both partners."""
    a, b = ends[c, 0], ends[c, 1]
    rx, ry, rz = row[c, ARM_B], row[c, ARM_B + 1], row[c, ARM_B + 2]
    shift(b, -1.0, px, py, pz, ry * pz - rz * py, rz * px - rx * pz, rx * py - ry * px, w, inv, fly)
    if c < first:
        light = np.float64(v[a, 3])
        v[a, 0] += light * px
        v[a, 1] += light * py
        v[a, 2] += light * pz
        return
    rx, ry, rz = row[c, ARM_A], row[c, ARM_A + 1], row[c, ARM_A + 2]
    shift(a, 1.0, px, py, pz, ry * pz - rz * py, rz * px - rx * pz, rx * py - ry * px, w, inv, fly)


@inner
def _finish(c, first, ends, row, gap, e, mu_s, mu_k, law, v, fly, w, inv):
    """Entries that both kinds of rows share, once geometry and partners are there."""
    ux, uy, uz = _speed(c, first, ends, row, v, fly)
    speed = row[c, 0] * ux + row[c, 1] * uy + row[c, 2] * uz
    row[c, 3], row[c, 7] = _bias(gap, speed, e, law)
    slip2 = ux * ux + uy * uy + uz * uz - speed * speed
    row[c, 6] = mu_k if slip2 > law[SLIP] * law[SLIP] else mu_s
    row[c, 11] = 1.0
    _weigh(c, first, ends, row, v, w, inv)


@jit
def particle_rows(
    w_count, w_rows, w_body, w_plane, w_imp, which, x, v, mat, nmat, kinds, mu_s, mu_k, rest, part,
    law, centre, fly, w, inv, ends, slot, row, imp,
):  # fmt: skip
    """Contacts of particles with dynamic bodies; which: these bodies. Returns how many.

    part: of the last impulses, to start from. The plane's own motion s leads to where the body will
    be if nothing touches it; what impulses change of that follows from fly.
    """
    c = 0
    cap = w_rows.shape[1]
    for s in range(w_count.shape[0]):
        for k in range(w_count[s]):
            i, b = w_rows[s, k], which[w_body[s, k]]
            p = w_plane[s, k]
            nx, ny, nz = np.float64(p[0]), np.float64(p[1]), np.float64(p[2])
            r = np.float64(x[i, 3])
            gap = nx * x[i, 0] + ny * x[i, 1] + nz * x[i, 2] - p[3] - r
            ends[c, 0], ends[c, 1] = i, b
            row[c, 0], row[c, 1], row[c, 2], row[c, 4] = nx, ny, nz, r
            for e in range(3):
                row[c, 8 + e] = 0.0
                row[c, ARM_A + e] = 0.0
                row[c, ARM_B + e] = x[i, e] - (r + gap) * row[c, e] - centre[b, e]
            bx, by, bz = at_point(b, fly, row[c, ARM_B], row[c, ARM_B + 1], row[c, ARM_B + 2])
            row[c, 8] = p[4] / law[DT] - bx
            row[c, 9] = p[5] / law[DT] - by
            row[c, 10] = p[6] / law[DT] - bz
            ux, uy, uz = _speed(c, c + 1, ends, row, v, fly)
            limit = r * (law[TOLERANCE] - 1.0)
            if gap > limit and gap + law[DT] * (nx * ux + ny * uy + nz * uz) > limit:
                for e in range(3):
                    w_imp[s, k, e] = 0.0
                continue
            pair = mat[i] * nmat + kinds[b]
            _finish(
                c, c + 1, ends, row, gap, np.float64(rest[pair]), np.float64(mu_s[pair]),
                np.float64(mu_k[pair]), law, v, fly, w, inv,
            )  # fmt: skip
            slot[c] = s * cap + k
            for e in range(3):
                imp[c, e] = part * w_imp[s, k, e]
            c += 1
    return c


@inner
def _turn(b, rx, ry, rz, fly, h):
    """Way (m) of the point r of body b in h (s), on its arc about the centre."""
    ox, oy, oz = fly[b, 3], fly[b, 4], fly[b, 5]
    rate = math.sqrt(ox * ox + oy * oy + oz * oz)
    if h * rate < SMALL:
        return 0.0, 0.0, 0.0
    tx, ty, tz = oy * rz - oz * ry, oz * rx - ox * rz, ox * ry - oy * rx
    cx, cy, cz = oy * tz - oz * ty, oz * tx - ox * tz, ox * ty - oy * tx
    along, across = math.sin(h * rate) / rate, (1.0 - math.cos(h * rate)) / (rate * rate)
    return along * tx + across * cx, along * ty + across * cy, along * tz + across * cz


@inner
def _middle(f, a, s, rot, org, x):
    """Arm of what turns with the sampled body: of an edge its point, of all else its middle."""
    if s[4] == EDGE:
        return f[3] + s[3] * f[0], f[4] + s[3] * f[1], f[5] + s[3] * f[2]
    px, py, pz = from_shape(a, rot, s[0], s[1], s[2])
    return px + org[a, 0] - x[a, 0], py + org[a, 1] - x[a, 1], pz + org[a, 2] - x[a, 2]


@inner
def _bend(c, a, b, s, f, rot, org, x, fly, h, row):
    """Take the arms to where the sample will be; return what that adds to the gap.

    Corners and rims go in arcs: along the tangents at the start of a step, those about to touch
    down would stop what rolls. Both arms change alike, so angular momentum is kept.
    """
    rx, ry, rz = _middle(f, a, s, rot, org, x)
    dx, dy, dz = _turn(a, rx, ry, rz, fly, h)
    for r in (ARM_A, ARM_B):
        row[c, r] += dx
        row[c, r + 1] += dy
        row[c, r + 2] += dz
    rx, ry, rz = rx + dx, ry + dy, rz + dz
    ax, ay, az = fly[a, 3], fly[a, 4], fly[a, 5]
    bx, by, bz = fly[b, 3], fly[b, 4], fly[b, 5]
    return (
        f[0] * (dx - h * (ay * rz - az * ry - by * dz + bz * dy))
        + f[1] * (dy - h * (az * rx - ax * rz - bz * dx + bx * dz))
        + f[2] * (dz - h * (ax * ry - ay * rx - bx * dy + by * dx))
    )


@jit
def body_rows(
    found, who, count, memory, slots, pairs, samples, begin, rot, org, x, bounce, part, law, v, fly,
    w, inv, first, ends, slot, row, imp,
):  # fmt: skip
    """Contacts of bodies, as `rigid_contacts` found them where bodies stand now, behind `first`.

    bounce: restitution of all, below 0 that of the materials; part: as there.
    """
    for k in range(count):
        c = first + k
        f = found[k]
        # with no time to move, an overlap is written as the part that position-based bodies recover
        gap = f[GAP] / RECOVER if f[GAP] < 0.0 else f[GAP]
        ends[c, 0], ends[c, 1] = who[k, 0], who[k, 1]
        for e in range(3):
            row[c, e] = f[e]
            row[c, 8 + e] = 0.0
            row[c, ARM_A + e] = f[3 + e]
            row[c, ARM_B + e] = f[6 + e]
        slot[c] = int(f[SLOT])
        pair = np.searchsorted(slots, slot[c], side="right") - 1
        sample = samples[begin[pairs[pair, 0]] + slot[c] - slots[pair]]
        gap += _bend(c, who[k, 0], who[k, 1], sample, f, rot, org, x, fly, law[DT], row)
        for e in range(3):
            imp[c, e] = part * memory[slot[c], 1 + e]
        _finish(
            c, first, ends, row, gap, bounce if bounce >= 0.0 else f[BOUNCE], f[MU_S], f[MU_K], law,
            v, fly, w, inv,
        )  # fmt: skip
    return first + count


@jit
def warm(count, first, ends, row, imp, v, fly, w, inv, friction):
    """Start from the last impulses, without their friction where there is none in the iterations.

    Those of bodies lie in the cone about the normal of now.
    """
    for c in range(count):
        imp[c, 0], imp[c, 1], imp[c, 2] = project(
            imp[c, 0], imp[c, 1], imp[c, 2], row[c, 0], row[c, 1], row[c, 2], row[c, 6], friction
        )
        _push(c, first, ends, row, imp[c, 0], imp[c, 1], imp[c, 2], v, fly, w, inv)


@jit
def sweep(count, first, ends, row, imp, v, fly, w, inv, par, friction, passes, it, rub):
    """Passes over all contacts of bodies, forwards and backwards in turns.

    Push first, then friction at that push, for their inverse masses differ; with `rub` friction
    alone, at the push that there is. All in one loop on numbers: handed on, arrays cost more than
    the arithmetic.
    """
    mode, h, k_v, k_c = par[MODE], par[H], par[K_V], par[K_C] * par[INV_H]
    for turn in range(passes * count):
        c = turn % count
        if (it * passes + turn // count) % 2 == 1:
            c = count - 1 - c
        a, b = ends[c, 0], ends[c, 1]
        nx, ny, nz = row[c, 0], row[c, 1], row[c, 2]
        px, py, pz = imp[c, 0], imp[c, 1], imp[c, 2]
        rx, ry, rz = row[c, ARM_B], row[c, ARM_B + 1], row[c, ARM_B + 2]
        ux = -row[c, 8] - (fly[b, 0] + fly[b, 4] * rz - fly[b, 5] * ry)
        uy = -row[c, 9] - (fly[b, 1] + fly[b, 5] * rx - fly[b, 3] * rz)
        uz = -row[c, 10] - (fly[b, 2] + fly[b, 3] * ry - fly[b, 4] * rx)
        if c < first:
            ux, uy, uz = ux + v[a, 0], uy + v[a, 1], uz + v[a, 2]
        else:
            rx, ry, rz = row[c, ARM_A], row[c, ARM_A + 1], row[c, ARM_A + 2]
            ux += fly[a, 0] + fly[a, 4] * rz - fly[a, 5] * ry
            uy += fly[a, 1] + fly[a, 5] * rx - fly[a, 3] * rz
            uz += fly[a, 2] + fly[a, 3] * ry - fly[a, 4] * rx
        speed = nx * ux + ny * uy + nz * uz
        before = px * nx + py * ny + pz * nz
        more = 0.0
        if not rub:
            rate = speed + row[c, 3]  # (28), or Alg. 1 for a plane
            if mode != LINEAR:
                rate = k_v * speed + k_c * (row[c, 3] + (h * speed if mode == MOVING else 0.0))
                if row[c, 7] < 0.0:
                    rate = min(rate, speed + row[c, 7])
            if friction == RELAXED:
                slip2 = ux * ux + uy * uy + uz * uz - speed * speed
                rate -= row[c, 6] * math.sqrt(max(slip2, 0.0))
            more = max(before - rate / row[c, W_N], 0.0) - before
        if before + more <= 0.0 and before == 0.0:
            continue
        dx, dy, dz = more * nx, more * ny, more * nz
        m = MASS
        ux += row[c, m] * dx + row[c, m + 1] * dy + row[c, m + 2] * dz
        uy += row[c, m + 3] * dx + row[c, m + 4] * dy + row[c, m + 5] * dz
        uz += row[c, m + 6] * dx + row[c, m + 7] * dy + row[c, m + 8] * dz
        speed = nx * ux + ny * uy + nz * uz
        give = row[c, W_T]
        fx, fy, fz = project(
            px + dx - (ux - speed * nx) / give, py + dy - (uy - speed * ny) / give,
            pz + dz - (uz - speed * nz) / give, nx, ny, nz, row[c, 6], friction,
        )  # fmt: skip
        imp[c, 0], imp[c, 1], imp[c, 2] = fx, fy, fz
        dx, dy, dz = fx - px, fy - py, fz - pz
        for side in range(2):
            e = ends[c, side]
            if side == 0 and c < first:
                v[e, 0] += v[e, 3] * dx
                v[e, 1] += v[e, 3] * dy
                v[e, 2] += v[e, 3] * dz
            elif w[e] > 0.0:
                sign = 1.0 - 2.0 * side
                r = ARM_A + 3 * side
                rx, ry, rz = sign * row[c, r], sign * row[c, r + 1], sign * row[c, r + 2]
                tx, ty, tz = ry * dz - rz * dy, rz * dx - rx * dz, rx * dy - ry * dx
                light = sign * w[e]
                fly[e, 0] += light * dx
                fly[e, 1] += light * dy
                fly[e, 2] += light * dz
                fly[e, 3] += inv[e, 0, 0] * tx + inv[e, 0, 1] * ty + inv[e, 0, 2] * tz
                fly[e, 4] += inv[e, 1, 0] * tx + inv[e, 1, 1] * ty + inv[e, 1, 2] * tz
                fly[e, 5] += inv[e, 2, 0] * tx + inv[e, 2, 1] * ty + inv[e, 2, 2] * tz
                fly[e, 6] += tx
                fly[e, 7] += ty
                fly[e, 8] += tz


@jit
def keep(count, first, ends, slot, row, imp, share, w_imp, w_total, memory, force):
    """Keep the impulses for the next step; force (nb, 6) += share (1/s) times them, and moments."""
    for k in range(memory.shape[0]):
        for e in range(4):
            memory[k, e] = 0.0
    for c in range(count):
        px, py, pz = imp[c, 0], imp[c, 1], imp[c, 2]
        for side in range(1 if c < first else 0, 2):
            b, sign = ends[c, side], share if side == 0 else -share
            r = row[c, ARM_A + 3 * side : ARM_A + 3 * side + 3]
            force[b, 0] += sign * px
            force[b, 1] += sign * py
            force[b, 2] += sign * pz
            force[b, 3] += sign * (r[1] * pz - r[2] * py)
            force[b, 4] += sign * (r[2] * px - r[0] * pz)
            force[b, 5] += sign * (r[0] * py - r[1] * px)
        for e in range(3):
            if c < first:
                s, k = slot[c] // w_imp.shape[1], slot[c] % w_imp.shape[1]
                w_imp[s, k, e] = imp[c, e]
                w_total[s, k, e] += share * imp[c, e]
            else:
                memory[slot[c], 1 + e] = imp[c, e]
