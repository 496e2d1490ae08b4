"""The contact law of the conserving form: from gap and motion to the new impulse of a contact.

[Holz14] (17), (19), (29)-(36), solved for the impulse P (kg m, force times h^2) of a contact, eight
contacts at a time. Also the places of the parameters that all forms of P2 share.

**Deviation** from print: implicit Euler for spring and damper is solved for the impulse,
L = -(h^2 k C_s + h c C_d), instead of scaling a correction (21)-(28); friction is capped on the
accumulated impulse (ERRATA, (33)); friction opposes motion (ERRATA, (31)).
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inline
from berm.kernels.simd.vec8 import fma, lane, select, splat, vmax, vmin, vsqrt

# places in the parameter vector
GX, GY, GZ = 0, 1, 2  # h^2 g
H, INV_H = 3, 4
RELAX = 5  # factor of the inverse mass that a contact sees (below 1: over-relaxation)
MEMORY = 6  # part of its last impulse that a contact starts from in this iteration
KEEP = 7  # the same in the first iteration of the next substep
TOUCH = 8  # counts as a contact when the gap is below TOUCH * radius (split masses)
SLIP = 9  # (h v_slip)^2: slower than this is "at rest" for static friction
SLEEP = 10  # squared displacement below which a touching grain stays where it is
BETA = 11  # improved-Jacobi factor of this iteration, [Francu14] (36)
FRACTION = 12  # part of the time that contacts with bodies were found for that is gone
SHARE = 13  # part of that time that one substep is
EPS = 14  # error reduction by depth (37), published form
UP_X, UP_Y, UP_Z = 15, 16, 17  # unit vector against gravity
WEIGHT = 18  # from an impulse of a substep to its share of the step's mean force
SPRING, DAMPER = 19, 20  # factors (28) that all pairs share, published form
NPAR = 21

# rows of the material table, one column a pair of materials
T_K, T_C, T_MU_S, T_MU_K, T_ADHESION = 0, 1, 2, 3, 4  # h^2 k, h c, -, -, h^2 a

# flags: LAST iteration of a substep, STATS wanted, contacts stick with their WHOLE surface
ADHESIVE, ACCELERATED, LAST, STATS, WHOLE = 1, 2, 4, 8, 16

# columns of the statistics, one row a slab
OVERLAP_SUM, OVERLAP_MAX, CONTACTS = 0, 1, 2  # m, m, touching pairs
ENERGY, FARTHEST2 = 3, 4  # J, and the largest squared displacement of the last substep, m^2
BAD, OFF = 5, 6  # 1 + row of a grain that is not finite; 1 where one has left its list's way
GIVE2, GIVE3 = 7, 8  # sums of the second and third powers of what contacts give way, radii; sweeps
NSTATS = 9

REACH = 1e-4  # radii: grains nearer than this stick with their whole surface; beyond rounding


@inline
def respond(
    nx, ny, nz, approach, rx, ry, rz, gap, mass, px, py, pz, memory, k, c, mu_s, mu_k, glue, slip,
    dx, dy, dz, beta, zero, one, flags,
):  # fmt: skip
    """New impulse of eight contacts.

    n: normal; gap and approach (C_s, C_d, (17)): where the remembered part of the impulses leads;
    r: relative displacement that the whole impulses of the last pass lead to; mass: inverse mass
    of the pair; p: last impulse, of which the part `memory` is in gap and approach; glue: cap of
    the adhesive impulse (34)-(35); d: last change of p, for acceleration.

    Sliding is judged by the whole impulses: by the remembered part alone, a grain at rest would
    seem to slide under its own weight in every substep, and friction that answers to that creeps.
    """
    before = fma(px, nx, fma(py, ny, pz * nz))
    normal = memory * before
    # in contact where the prediction (2), without the remembered impulse, overlaps
    touching = gap <= mass * vmax(normal, zero)
    damp = select(touching, c, zero)
    stiff = k + damp
    # implicit spring-damper (19): L = -(K C_s + C C_d) at the end of the substep;
    # one quotient serves 1 / (1 + D w) and 1 / w
    soft = fma(stiff, mass, one)
    shared = one / (soft * mass)
    inverse = shared * soft
    fresh = fma(zero - shared * mass, normal + fma(k, gap, damp * approach), normal)
    tx = fma(zero - before, nx, px)
    ty = fma(zero - before, ny, py)
    tz = fma(zero - before, nz, pz)
    along = fma(rx, nx, fma(ry, ny, rz * nz))
    sx = fma(zero - along, nx, rx)
    sy = fma(zero - along, ny, ry)
    sz = fma(zero - along, nz, rz)
    if flags & ACCELERATED:
        # [Francu14] (38) with a plus (ERRATA)
        turn = fma(dx, nx, fma(dy, ny, dz * nz))
        fresh = fma(beta, turn, fresh)
        tx = fma(beta, fma(zero - turn, nx, dx), tx)
        ty = fma(beta, fma(zero - turn, ny, dy), ty)
        tz = fma(beta, fma(zero - turn, nz, dz), tz)
    raw = fresh
    fresh = vmax(fresh, zero)
    slide = fma(sx, sx, fma(sy, sy, sz * sz))
    mu = select(slide > slip, mu_k, mu_s)  # (29)
    cap = mu * fresh  # (33)
    tx = fma(zero - inverse, sx, tx)  # (30), (31)
    ty = fma(zero - inverse, sy, ty)
    tz = fma(zero - inverse, sz, tz)
    if flags & ADHESIVE:
        # a damper that resists separation, capped by the adhesive force (Sec. 6.5.2): what holds
        # the pair still, between the spring alone and the spring with all of the pull
        still = fma(zero - inverse, along, before)
        least = vmax(fma(zero - shared * mass, glue, raw), zero - glue)
        fresh = vmin(vmax(still, least), fresh)
        # the spring where this leaves the pair, without the pull
        spring = vmax(fma(stiff * mass, raw - fresh, raw), zero)
        cap = fma(mu, spring, glue)
    size2 = fma(tx, tx, fma(ty, ty, tz * tz))
    keep = vmin(cap * vsqrt(size2) * (one / size2), one)  # root and quotient side by side
    return fma(fresh, nx, tx * keep), fma(fresh, ny, ty * keep), fma(fresh, nz, tz * keep)


@inline
def contact_area(gap, approach, ri, rj, zero, one, flags=0):
    """Contact surface over pi (36), quadratic in the penetration; WHOLE: all of it at a touch.

    That is a touch before the grains part by `approach` in this substep, or what falls off by g h^2
    in one would not stick at all.
    """
    small = vmin(ri, rj)
    if flags & WHOLE:
        reach = small * splat(lane(zero, 0) + np.float32(REACH))
        return select(gap - vmax(approach, zero) <= reach, small * small, zero)
    depth = vmin(vmax(zero - gap, zero), small) / small
    return small * small * (one - (depth - one) * (depth - one))
