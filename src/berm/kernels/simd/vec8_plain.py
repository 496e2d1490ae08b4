"""The eight-lane operations on plain NumPy arrays: what runs when the JIT is off."""

from __future__ import annotations

from typing import Any

import numpy as np

LANES = 8


def load(array: Any, index: int) -> Any:
    return array[index : index + LANES].copy()


def store(array: Any, index: int, value: Any) -> None:
    array[index : index + LANES] = value


def store_places(array: Any, index: int, first: int, places: Any) -> None:
    one_byte = np.frombuffer(np.int64(places).tobytes(), np.uint8)
    array[index : index + LANES] = first + one_byte.astype(np.int32)


def gather4(array: Any, index: Any) -> Any:
    rows = array[index]
    return rows[:, 0].copy(), rows[:, 1].copy(), rows[:, 2].copy(), rows[:, 3].copy()


def gather4_at(array: Any, index: Any, first: int) -> Any:
    return gather4(array, index[first : first + LANES])


def gather8_at(array: Any, index: Any, first: int) -> Any:
    rows = array[index[first : first + LANES]]
    return tuple(rows[:, c].copy() for c in range(8))


def gather12(array: Any, index: Any) -> Any:
    rows = array[index]
    return tuple(rows[:, c].copy() for c in range(12))


def gather12_at(array: Any, index: Any, first: int) -> Any:
    return gather12(array, index[first : first + LANES])


def fetch8_at(array: Any, index: Any, first: int) -> None:
    """Nothing: NumPy fetches by itself."""


def load4(array: Any, first: int) -> Any:
    return gather4(array, np.arange(first, first + LANES))


def load8(array: Any, first: int) -> Any:
    return tuple(array[first : first + LANES, c].copy() for c in range(8))


def quad(array: Any, index: int) -> Any:
    return array.reshape(-1, 4)[index].copy()


def set_quad(array: Any, index: int, value: Any) -> None:
    array.reshape(-1, 4)[index] = value


def splat4(value: Any) -> Any:
    return np.full(4, value)


def quad_of(a: Any, b: Any, c: Any, d: Any) -> Any:
    return np.array([a, b, c, d])


def with_last(vec: Any, value: Any) -> Any:
    result = vec.copy()
    result[3] = value
    return result


def scatter_add4(array: Any, index: Any, shift: int, columns: Any) -> None:
    for k in range(LANES):
        for c in range(4):
            array[index[k] + shift, c] += columns[c][k]


def scatter_add4_at(array: Any, index: Any, first: int, shift: int, columns: Any) -> None:
    scatter_add4(array, index[first : first + LANES], shift, columns)


def scatter_add_tail8(array: Any, index: Any, columns: Any) -> None:
    for k in range(LANES):
        for c in range(8):
            array[index[k], 4 + c] += columns[c][k]


def scatter_tail8_at(array: Any, index: Any, first: int, columns: Any) -> None:
    for k in reversed(range(LANES)):  # an idle lane may repeat the first one's row
        for c in range(8):
            array[index[first + k], 4 + c] = columns[c][k]


def store4(array: Any, first: int, columns: Any) -> None:
    for c in range(4):
        array[first : first + LANES, c] = columns[c]


def splat(value: Any) -> Any:
    return np.full(LANES, value)


def iota32(start: int) -> Any:
    return np.arange(start, start + LANES, dtype=np.int32)


def select(mask: Any, yes: Any, no: Any) -> Any:
    return np.where(mask, yes, no)


def bits(mask: Any) -> int:
    return sum(1 << k for k in range(LANES) if mask[k])


def vsqrt(a: Any) -> Any:
    return np.sqrt(a)


def vabs(a: Any) -> Any:
    return np.abs(a)


def vmax(a: Any, b: Any) -> Any:
    return np.where(a > b, a, b)


def vmin(a: Any, b: Any) -> Any:
    return np.where(a < b, a, b)


def fma(a: Any, b: Any, c: Any) -> Any:
    """In float32 through float64: the product is exact there, so only ties can differ."""
    wide = np.longdouble if a.dtype == np.float64 else np.float64
    return (a.astype(wide) * b.astype(wide) + c.astype(wide)).astype(a.dtype)


def take(table: Any, index: Any) -> Any:
    return table[index].copy()


def lane(vec: Any, k: int) -> Any:
    return vec[k]


def count_zeros(value: int) -> int:
    return (value & -value).bit_length() - 1
