"""What a user gave, as numbers; else an error that names it and says what is allowed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.errors import InputError

Array = npt.NDArray[np.float64]


def number(
    what: str, value: Any, allowed: str, good: Callable[[float], bool] = math.isfinite
) -> float:
    """Return a number that is `good`; text is none, whatever it spells."""
    try:
        given = math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError):
        given = math.nan
    if not good(given):
        raise InputError(what, value, allowed)
    return given


def whole(what: str, value: Any, low: int, allowed: str = "") -> int:
    """Return a whole number from `low` up; 3.0 is one."""
    allowed = allowed or f"a whole number from {low} up"
    return int(number(what, value, allowed, lambda x: x >= low and x % 1 == 0))


def numbers(what: str, value: Any, shape: tuple[int, ...], unit: str = "") -> Array:
    """Return numbers of this shape, or repeated to it; NaN and infinity are let through."""
    try:
        return np.array(np.broadcast_to(np.asarray(value, float), shape))
    except (TypeError, ValueError):
        got = np.shape(value) if isinstance(value, np.ndarray) else value
        raise InputError(what, got, f"numbers of shape {shape}{unit}") from None


def vector(what: str, value: Any, allowed: str = "three finite numbers") -> Array:
    """Return three finite numbers."""
    try:
        given = np.array(value, float)
    except (TypeError, ValueError):
        given = np.zeros(0)
    if given.shape != (3,) or not np.isfinite(given).all():
        raise InputError(what, value, allowed)
    return given


def check_spheres(
    what: str, offsets: npt.ArrayLike, radii: npt.ArrayLike, called: str = "offsets"
) -> tuple[Array, Array]:
    """Return centres (k, 3) and radii (k,) as arrays, or say what is wrong; one radius fits all.

    called: what the user knows the centres as.
    """
    try:
        places, sizes = np.array(offsets, np.float64), np.array(radii, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what}: {called}, radii", (offsets, radii), "numbers, m") from None
    if places.size == 0:
        raise InputError(f"{what}: {called}", "no spheres", "at least one sphere")
    if places.ndim != 2 or places.shape[1] != 3:
        raise InputError(f"{what}: shape of {called}", places.shape, "(k, 3)")
    if sizes.ndim == 0:
        sizes = np.full(len(places), float(sizes))
    if sizes.shape != (len(places),):
        raise InputError(f"{what}: shape of radii", sizes.shape, f"({len(places)},), as {called}")
    bad = np.flatnonzero(~np.isfinite(places).all(axis=1))
    if len(bad):
        k = int(bad[0])
        raise InputError(f"{what}: {called}[{k}]", places[k].tolist(), "finite numbers, m")
    bad = np.flatnonzero(~(np.isfinite(sizes) & (sizes > 0.0)))
    if len(bad):
        k = int(bad[0])
        raise InputError(f"{what}: radii[{k}]", float(sizes[k]), "finite, above 0 m")
    return places, sizes


def known(what: str, given: Iterable[str], allowed: Iterable[str]) -> None:
    """Say which of these names is none of those that are allowed."""
    allowed = set(allowed)
    for name in given:
        if name not in allowed:
            raise InputError(what, name, ", ".join(sorted(allowed)))
