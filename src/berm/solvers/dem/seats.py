"""Blocks of bodies made of spheres, and where their spheres stand: see `kernels/body_blocks`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.clumps import Clumps
from berm.core.grains import Grains
from berm.core.pages import zeros
from berm.kernels.dem.body_blocks import CHUNK, STATE, count_seats, seat_bodies
from berm.kernels.simd.vec4 import FOUR

Array = npt.NDArray[Any]


def seats_of(clumps: Clumps, grains: Grains, elsewhere: Array) -> tuple[Array, ...]:
    """Seats, forms, rows and arms of spheres, blocks and which are round, for kernels that move.

    elsewhere (n,): clumps that something else than their block moves.
    """
    c, chunks = clumps, -(-clumps.n // CHUNK)
    seat, form = np.empty(c.n + 1, np.int64), np.empty(c.n + 1, np.int64)
    count_seats(c.first, c.kind, elsewhere, seat, form)
    seats, arms = np.empty(FOUR * seat[-1], np.int32), np.empty(4 * FOUR * seat[-1])
    blocks, alike = zeros((chunks, STATE), np.float64), np.empty(chunks, np.bool_)
    ref = c.ref.copy()
    ref[elsewhere, 3] = np.inf  # their spheres are watched one by one
    seat_bodies(
        c.first, c.rows, c.offset, c.moments, ref, grains.x, grains.v, grains.spin, seat, form,
        seats, arms, blocks, alike,
    )  # fmt: skip
    return seat, form, seats, arms, blocks, alike
