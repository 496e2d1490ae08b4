"""Rows of four: compiled and plain versions do what NumPy does."""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import jit
from berm.kernels.simd import vec4
from berm.kernels.simd.vec8 import quad, set_quad, splat4


@jit
def exercise(x, f, who, small, out, noted):
    """Touch every operation once (compiled, or plain when the JIT is off)."""
    a, b, c, d = vec4.rows4(x, who, 1, 1, 0)
    vec4.add_rows4(f, small, 0, 2, 1, (a, b, c, d))
    vec4.set_rows4(x, who, 4, 1, 0, (d, c, b, a))
    vec4.set_four(out, 3, vec4.four(out, 8) + a)
    set_quad(x, 0, vec4.keep_last(vec4.next_axis(quad(x, 1)), quad(x, 2)))
    vec4.set_four(out, 12, vec4.where_equal(a, vec4.four(out, 16), b))
    vec4.set_four(out, 20, vec4.transposed(a, b, c, d)[2])
    return vec4.note_below(noted, 1, 7, a, splat4(out[0]))


def test_every_operation():
    """Rows to lanes, sums into rows that repeat, shuffles, and notes of lanes below a bound."""
    rng = np.random.default_rng(4)
    x, f, out = rng.normal(size=(12, 4)), rng.normal(size=(9, 8)), rng.normal(size=24)
    who = np.array([9, 3, 7, 3, 8, 6, 10, 11])
    small = np.array([2, 5, 2, 8], np.int32)
    rows = x[who[1:5]].copy()
    out[0], out[19] = 0.3, rows[3, 0]
    rows[2, 0] = x[who[3], 0] = np.nan  # row 3 again: not a number counts as below
    rows[0, 0] = np.nan
    want_x, want_f, want = x.copy(), f.copy(), out.copy()
    for k, row in enumerate(small):
        want_f[row, 4:] += rows[k]
    want_x[who[4:8]] = rows[:, ::-1]
    want[3:7] = want[8:12] + rows[:, 0]
    want_x[0] = [*want_x[1, [1, 2, 0]], want_x[2, 3]]
    want[12:16] = np.where(rows[:, 0] == want[16:20], rows[:, 1], 0.0)
    want[20:24] = rows[2]
    below = [7 + k for k in range(4) if not rows[k, 0] >= want[0]]
    noted = np.zeros(8, np.int64)
    assert exercise(x, f, who, small, out, noted) == 1 + len(below)
    assert list(noted[1 : 1 + len(below)]) == below
    np.testing.assert_array_equal(x, want_x)
    np.testing.assert_array_equal(f, want_f)
    np.testing.assert_array_equal(out, want)
