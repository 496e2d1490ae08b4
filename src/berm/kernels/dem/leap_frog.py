"""Leap-frog of spheres and rigid bodies made of spheres, with the forces of all contacts."""

from __future__ import annotations

import numpy as np

from berm.kernels.dem.body_blocks import (
    BATCH,
    drain_block,
    fill_block,
    finish_block,
    move_batch,
    push_bodies,
)
from berm.kernels.dem.contact_blocks import LANES, LAW_NUMBERS, NUMBERS, WHO
from berm.kernels.dem.mechanisms import lead_clumps, move_mechanisms
from berm.kernels.dem.pair_forces import pair_slab
from berm.kernels.dem.sphere_motion import kick_slab, move_slab
from berm.kernels.dem.wall_forces import wall_slab
from berm.kernels.jit import pjit, prange
from berm.kernels.multibody.blocks import no_plan


@pjit
def advance(
    done, until, steps, due, h, gravity, owner, ref, stale, stamp, only_forces, elapsed, keep,
    fraction, pair_law, wall_law, slab, colour, turn, ptr, mine, nbr, hist, x, v, spin, material,
    alike, nmat, prm, f, per_second, row, body, face, count, wall_hist, total, shapes, shape, pose,
    substance, mesh, ranges, tri, normals, frame, dims, starts, members, field, corners,
    fan_starts, fans, first, rows, offset, centre, velocity, attitude, momentum, seat, form, seats,
    arms, blocks, alike_turn, pushed, applied, mechanisms, stats,
):  # fmt: skip
    """Leap-frog from step `done` to `until` of the `steps` of a world step, or to a stale list.

    Where `until` comes before the end, the next call goes on with `done` = `until` and gives the
    same bits as one call for all: a caller can so hear signals in between.

    due: the list was made anew in the middle of a step, and its forces are still to be found.
    only_forces: add the forces of all contacts at the `fraction` of the world step to f (n, 8) and
    to what bodies feel, total (slabs, nb, 8), `elapsed` (s) after contacts last kept their memory;
    keep it now or not; and return. stamp: number of the next time that contacts keep their memory;
    what was kept at the one before holds. pushed (k,), applied (k, 6): bodies on which a force and
    a torque (about the centre) act from outside; mechanisms: those that joints hold; where
    there are none, None, for which the core is left out of what is compiled. Returns the steps that
    are done; where it is less than `until`, the list is stale and forces are due.
    """
    gx, gy, gz = gravity[0], gravity[1], gravity[2]
    chunks = blocks.shape[0]  # bodies stay in blocks for all steps
    batches = (chunks + BATCH - 1) // BATCH
    nslab = slab.shape[0] - 1
    # where all spheres are parts of bodies, none moves alone
    singles = nslab if rows.shape[0] < slab[nslab] else 0
    # blocks of contacts of each slab, with spheres and with walls, for all steps
    block, who = np.ones((2, nslab, NUMBERS)), np.zeros((2, nslab, WHO), np.int64)
    numbers, kinds = np.ones((2, nslab, LAW_NUMBERS * LANES)), np.full((2, nslab, LANES), -1)
    if not only_forces:
        for c in prange(chunks):
            fill_block(np.int64(c), first, centre, velocity, attitude, momentum, blocks)
        if done == 0 and not due:
            push_bodies(pushed, applied, 1.0, first, rows, blocks, x, f)
    if mechanisms is not None:
        plan = no_plan(mechanisms.bodies.kind.shape[0])
    while done < until or due or only_forces:
        if not due and not only_forces:
            kick = h if done > 0 else 0.5 * h  # two half kicks in one but for the first
            if batches > 0:
                for c in prange(batches):
                    move_batch(
                        np.int64(c), h, kick, gx, gy, gz, first, rows, seat, form, seats, arms,
                        blocks, alike_turn, x, v, spin, f, stale[nslab:],
                    )  # fmt: skip
            if singles > 0:  # to begin a parallel loop takes a microsecond, empty or not
                for number in prange(singles):
                    move_slab(
                        np.int64(number), slab, owner, h, kick, gx, gy, gz, x, v, spin, f, ref,
                        stale,
                    )  # fmt: skip
            far = False
            if mechanisms is not None:
                plan, far = move_mechanisms(
                    mechanisms, h, per_second, gravity, plan, first, rows, offset, centre, velocity,
                    attitude, momentum, ref, x, v, spin, f,
                )  # fmt: skip
            for k in range(nslab + batches):
                far |= stale[k]
            if far:
                for c in prange(chunks):
                    drain_block(np.int64(c), first, centre, velocity, attitude, momentum, blocks)
                if mechanisms is not None:
                    lead_clumps(mechanisms, centre, velocity, attitude, momentum)
                return done
        due = False
        if not only_forces:
            fraction = (done + 1.0) / steps
            push_bodies(pushed, applied, 1.0, first, rows, blocks, x, f)
        for c in range(colour.shape[0] - 1):
            for at in prange(colour[c], colour[c + 1]):
                pair_slab(
                    turn[at], pair_law, slab, ptr, mine, nbr, hist, x, v, spin, material, alike,
                    nmat, prm, f, elapsed, stamp, keep, block[0], who[0], numbers[0], kinds[0],
                    stats,
                )  # fmt: skip
                wall_slab(
                    turn[at], wall_law, x, v, spin, material, nmat, prm, f, elapsed, keep,
                    fraction, per_second, row, body, face, count, wall_hist, total, shapes, shape,
                    pose, substance, mesh, ranges, tri, normals, frame, dims, starts, members,
                    field, corners, fan_starts, fans, block[1], who[1], numbers[1], kinds[1],
                    stats,
                )  # fmt: skip
        stamp += 1.0
        if only_forces:
            return done
        done += 1
    if done < steps:
        for c in prange(chunks):
            drain_block(np.int64(c), first, centre, velocity, attitude, momentum, blocks)
        if mechanisms is not None:
            lead_clumps(mechanisms, centre, velocity, attitude, momentum)
        return done
    for c in prange(chunks):
        finish_block(
            np.int64(c), 0.5 * h, gx, gy, gz, first, rows, centre, velocity, attitude, momentum,
            seat, form, seats, arms, blocks, x, v, spin, f,
        )  # fmt: skip
    for number in prange(singles):
        kick_slab(np.int64(number), slab, owner, 0.5 * h, gx, gy, gz, x, v, spin, f)
    push_bodies(pushed, applied, -1.0, first, rows, blocks, x, f)  # the next step has its own
    if mechanisms is not None:
        lead_clumps(mechanisms, centre, velocity, attitude, momentum)
    return done
