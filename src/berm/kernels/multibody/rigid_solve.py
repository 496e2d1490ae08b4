"""Contacts and joints of a substep together, and the mobility that grains meet; float64.

Position-based rigid bodies with generalised inverse masses and substeps [Mueller20]. **Deviation**:
positions are corrected by impulses that are kept and projected (Gauss-Seidel on one linearisation
a substep), and each impulse changes momentum and angular momentum by what it is, instead of
velocities being read from positions: free bodies keep both to rounding.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inner, jit
from berm.kernels.multibody.rigid_contacts import (
    LN,
    SETTLE,
    bounce_contacts,
    keep_contacts,
    sweep_contacts,
    warm_contacts,
    weigh_contacts,
)
from berm.kernels.multibody.rigid_joints import sweep_joints

TINY = 1e-6  # of a direction's inverse mass: less is rounding


@jit
def solve_positions(
    rows, who, count, memory, ends, j_rows, j_push, j_error, j_size, j_free, j_low, j_high, j_mass,
    j_acc, w, inv, iterations, move,
):  # fmt: skip
    """Corrections `move` (nb, 9) of the substep, from the impulses of contacts and joints."""
    right, out, work = np.zeros(6), np.zeros(6), np.zeros((6, 7))
    for b in range(move.shape[0]):
        for c in range(9):
            move[b, c] = 0.0
    weigh_contacts(rows, who, count, w, inv)
    warm_contacts(rows, who, count, memory, w, inv, move)
    for it in range(iterations):
        sweep_contacts(rows, who, count, w, inv, move, it % 2 == 1)
        sweep_joints(
            ends, j_rows, j_push, j_error, j_size, j_free, j_low, j_high, j_mass, j_acc, w, inv,
            move, False, right, out, work,
        )  # fmt: skip
    keep_contacts(rows, count, memory)


@jit
def solve_velocities(
    rows, who, count, ends, j_rows, j_error, j_size, j_free, j_low, j_high, j_mass, j_acc, v, spin,
    omega, w, inv, h, pull, iterations, fly,
):  # fmt: skip
    """Restitution, and velocities without what only moved bodies out of each other."""
    right, out, work = np.zeros(6), np.zeros(6), np.zeros((6, 7))
    for b in range(fly.shape[0]):
        for c in range(3):
            fly[b, c], fly[b, 3 + c], fly[b, 6 + c] = v[b, c], omega[b, c], 0.0
    for it in range(iterations):
        bounce_contacts(rows, who, count, w, inv, fly, h, SETTLE * pull * h)
        sweep_joints(
            ends, j_rows, j_rows, j_error, j_size, j_free, j_low, j_high, j_mass, j_acc, w, inv,
            fly, True, right, out, work,
        )  # fmt: skip
    for b in range(fly.shape[0]):
        if w[b] > 0.0:
            for c in range(3):
                v[b, c], omega[b, c] = fly[b, c], fly[b, 3 + c]
                spin[b, c] += fly[b, 6 + c]


@inner
def _hold(b, row, first, w, inv, out, u):
    """Take the direction row[first : first + 6] away from what body b can do."""
    size, whole = 0.0, 0.0
    trace = inv[b, 0, 0] + inv[b, 1, 1] + inv[b, 2, 2]
    for i in range(6):
        u[i] = 0.0
        for k in range(6):
            u[i] += out[b, i, k] * row[first + k]
        size += row[first + i] * u[i]
        whole += row[first + i] ** 2 * (w[b] if i < 3 else trace)
    if size > TINY * whole:  # else it is held already
        for i in range(6):
            for k in range(6):
                out[b, i, k] -= u[i] * u[k] / size


@jit
def mobilities(ends, j_rows, j_size, j_free, rows, who, count, w, inv, out):
    """Fill out (nb, 6, 6): displacement and turn by a force and a torque of 1 in a time of 1.

    Joints to what does not move are taken in exactly (one Schur complement a row), and so are
    contacts with it that carried in the last substep: grains meet the mass that a hinged or lying
    body really has for them. Joints and contacts between dynamic bodies are not.
    """
    u, line = np.empty(6), np.empty(6)
    for b in range(w.shape[0]):
        for i in range(6):
            for k in range(6):
                out[b, i, k] = 0.0
        for i in range(3):
            out[b, i, i] = w[b]
            for k in range(3):
                out[b, 3 + i, 3 + k] = inv[b, i, k] if w[b] > 0.0 else 0.0
    for j in range(ends.shape[0]):
        for side in range(2):
            b = ends[j, 1 + side]
            if w[b] > 0.0 and w[ends[j, 2 - side]] == 0.0:
                for m in range(j_size[j]):
                    if m != j_free[j]:
                        _hold(b, j_rows[j, m], 6 * side, w, inv, out, u)
    for k in range(count):
        for side in range(2):
            b = who[k, side]
            if rows[k, LN] > 0.0 and w[b] > 0.0 and w[who[k, 1 - side]] == 0.0:
                n, r = rows[k], 3 + 3 * side
                line[0], line[1], line[2] = n[0], n[1], n[2]
                line[3] = n[r + 1] * n[2] - n[r + 2] * n[1]
                line[4] = n[r + 2] * n[0] - n[r] * n[2]
                line[5] = n[r] * n[1] - n[r + 1] * n[0]
                _hold(b, line, 0, w, inv, out, u)
