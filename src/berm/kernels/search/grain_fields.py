"""What each grain feels, from the list of contacts: for colours, recordings and exports."""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import jit


@jit
def pair_fields(lanes, ptr, nbr, imp, x, scale, stiffness, overlap, force):
    """Largest overlap (m) and sum of normal forces (N) of each grain with its neighbours.

    scale: from an impulse to a force; 0 where the solver keeps none, then stiffness (N/m) times
    overlap stands for the force.
    """
    for q in range(ptr.shape[0] - 1):
        for slot in range(ptr[q], ptr[q + 1]):
            for lane in range(8):
                i = lanes[8 * q + lane]
                j = nbr[8 * slot + lane]
                if i == j:
                    continue
                dx = x[i, 0] - x[j, 0]
                dy = x[i, 1] - x[j, 1]
                dz = x[i, 2] - x[j, 2]
                far = np.sqrt(dx * dx + dy * dy + dz * dz)
                deep = max(x[i, 3] + x[j, 3] - far, 0.0)
                push = stiffness * deep
                if scale > 0.0:
                    at = 24 * slot + lane
                    push = dx * imp[at] + dy * imp[at + 8] + dz * imp[at + 16]
                    push *= scale / max(far, 1e-20)
                for k in (i, j):
                    overlap[k] = max(overlap[k], deep)
                    force[k] += abs(push)


@jit
def wall_fields(rows, plane, total, count, x, overlap, force):
    """Add contacts with bodies: overlap at the end of the step, mean normal force over it."""
    for s in range(rows.shape[0]):
        for k in range(count[s]):
            i = rows[s, k]
            gap = -plane[s, k, 3] - x[i, 3]
            push = 0.0
            for c in range(3):
                gap += plane[s, k, c] * (x[i, c] - plane[s, k, 4 + c])
                push += plane[s, k, c] * total[s, k, c]
            overlap[i] = max(overlap[i], -gap)
            force[i] += abs(push)
