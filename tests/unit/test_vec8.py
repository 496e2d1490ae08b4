"""Eight-lane vectors: compiled and plain versions give the same answers."""

from __future__ import annotations

import numpy as np
import pytest

from berm.kernels.jit import jit
from berm.kernels.simd import vec8, vec8_plain

PLACES = np.int64(1 | 3 << 8 | 6 << 16 | 7 << 56)  # bytes, the lowest first


@jit
def exercise(x, index, acc, wide, out, places):
    """Touch every operation once (compiled, or plain when the JIT is off)."""
    j = vec8.load(index, 0)
    a, b, c, _ = vec8.gather4(x, j)
    d = vec8.gather4_at(x, index, 0)[3]
    size = vec8.vsqrt(vec8.fma(a, a, vec8.fma(b, b, c * c)))
    big = size > vec8.splat(out[0])
    size = vec8.select(big, size, vec8.splat(out[1]))
    least = vec8.vmin(vec8.vabs(d), vec8.vmax(a, b))
    vec8.scatter_add_tail8(acc, j, (a, b, c, d, size, least, a - b, a / d))
    vec8.scatter_add4(x, vec8.iota32(11), 1, (a, b, c, d))
    vec8.store(out, 8, size)
    e, f, g, h = vec8.load4(x, 2)
    vec8.store(out, 16, e + f + g + -h)
    columns = vec8.gather12(acc, j)
    vec8.store(out, 24, columns[4] + columns[11])
    tail = vec8.gather12_at(acc, index, 8)[4:]
    vec8.scatter_tail8_at(acc, index, 16, (b, c, d, a, tail[3], least, size, tail[0]))
    vec8.store4(x, 9, (d, c, b, a))
    vec8.set_quad(x, 18, vec8.quad_of(out[8], out[9], out[10], out[11]))
    eight = vec8.load8(wide, 1)
    vec8.store(out, 0, eight[0] + eight[7])
    vec8.set_quad(
        x, 0, vec8.with_last(vec8.quad(x, 1) + vec8.splat4(out[8]) * vec8.quad(acc, 5), out[8])
    )
    vec8.store(out, 32, vec8.take(out, vec8.iota32(3)))
    own = vec8.gather8_at(wide, index, 0)
    partner = vec8.gather8_at(wide, index, 8)
    vec8.scatter_add4_at(x, index, 0, 1, (own[0] - partner[7], own[1], own[6], partner[2]))
    vec8.store_places(places, 3, 40, PLACES)
    mask = vec8.bits(big & (vec8.iota32(0) < vec8.splat(np.int32(6))))
    return mask, vec8.count_zeros(mask | 256), vec8.lane(size, 3)


def plain(x, index, acc, wide, out, places):
    """The same in NumPy, without the vector module."""
    rows = x[index[:8]].astype(np.float64)
    a, b, c, d = rows.T
    size = np.sqrt(a * a + b * b + c * c)
    big = size > out[0]
    size = np.where(big, size, out[1])
    least = np.minimum(np.abs(d), np.maximum(a, b))
    for k, columns in enumerate(np.stack([a, b, c, d, size, least, a - b, a / d], axis=1)):
        acc[index[k], 4:12] += columns
    for k in range(8):
        x[12 + k] += rows[k]
    out[8:16] = size
    out[16:24] = x[2:10, :3].sum(axis=1) - x[2:10, 3]
    out[24:32] = acc[index[:8], 4] + acc[index[:8], 11]
    tail = acc[index[8:16], 4:12].T.copy()
    acc[index[16:24], 4:12] = np.stack([b, c, d, a, tail[3], least, size, tail[0]], axis=1)
    x[9:17] = np.stack([d, c, b, a], axis=1)
    x[18] = out[8:12]
    out[:8] = wide[1:9, 0] + wide[1:9, 7]
    x[0] = x[1] + out[8] * acc[1, 4:8]
    x[0, 3] = out[8]
    out[32:40] = out[3:11]
    own, partner = wide[index[:8]], wide[index[8:16]]
    added = np.stack([own[:, 0] - partner[:, 7], own[:, 1], own[:, 6], partner[:, 2]], axis=1)
    np.add.at(x, index[:8] + 1, added)
    places[3:11] = [41, 43, 46, 40, 40, 40, 40, 47]
    mask = sum(1 << k for k in range(6) if big[k])
    lowest = next(k for k in range(9) if (mask | 256) >> k & 1)
    return mask, lowest, size[3]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_operations_match_numpy(dtype):
    first = [3, 1, 3, 7, 9, 11, 2, 0]  # row 3 twice: adds must not race
    index = np.array([*first, *range(8), *range(12, 20)], np.int32)
    results = []
    for function in (exercise, plain):
        generator = np.random.default_rng(5)
        x = generator.normal(size=(20, 4)).astype(dtype)
        acc = np.zeros((21, 16), dtype)
        wide = generator.normal(size=(20, 8)).astype(dtype)
        out = np.zeros(40, dtype)
        out[0], out[1] = 1.0, 0.25
        places = np.zeros(12, np.int32)
        results.append((function(x, index, acc, wide, out, places), x, acc, out, places))
    (scalars, *arrays), (expected, *references) = results
    assert scalars[:2] == expected[:2]
    assert scalars[2] == pytest.approx(expected[2], rel=1e-6)
    for got, want in zip(arrays, references, strict=True):
        np.testing.assert_allclose(got, want, rtol=20 * np.finfo(dtype).eps, atol=1e-6)


def test_plain_fma_rounds_once():
    a = np.full(8, np.float32(1 + 2**-12))
    exact = np.float32(np.float64(a[0]) * np.float64(a[0]) - 1.0)
    assert (vec8_plain.fma(a, a, np.full(8, np.float32(-1))) == exact).all()
