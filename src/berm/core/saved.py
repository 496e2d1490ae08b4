"""Reading a state with checks: whoever restores says what each part of it has to be.

A state may come from a file, from another version, or from somebody's script; kernels do not test
their indices, so that a wrong one is a crash of the process. Nothing here changes anything: a state
is checked as a whole before any of it is put back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.errors import InputError

Array = npt.NDArray[Any]
Shape = tuple[int | None, ...]
TAGS = 2**31  # grains that a world can have had: tables by tag have as many rows


class Saved:
    """One part of a state, and where it stands in it."""

    def __init__(self, values: Any, where: str = "state") -> None:
        if not isinstance(values, Mapping):
            raise InputError(where, type(values).__name__, "a map of names and values")
        self.values, self.where = values, where

    def refuse(self, name: str, got: Any, allowed: str) -> InputError:
        """Return the error that says what is wrong with `name`."""
        return InputError(f"{self.where}: {name}", got, allowed)

    def get(self, name: str) -> Any:
        """Return what is there under a name."""
        if name not in self.values:
            raise self.refuse(name, "nothing", "a state of this version of berm")
        return self.values[name]

    def part(self, name: str) -> Saved:
        """Return a part that is a map itself."""
        return Saved(self.get(name), f"{self.where}.{name}")

    def parts(self, name: str, counts: Sequence[int] | None = None) -> list[Saved]:
        """Return a list of parts; counts: how many there may be."""
        found = self.get(name)
        if not isinstance(found, list | tuple):
            raise self.refuse(name, type(found).__name__, "a list")
        if counts is not None and len(found) not in counts:
            raise self.refuse(name, f"{len(found)} entries", " or ".join(map(str, counts)))
        return [Saved(one, f"{self.where}.{name}[{k}]") for k, one in enumerate(found)]

    def array(
        self,
        name: str,
        dtype: npt.DTypeLike,
        shape: Shape,
        low: float | None = None,
        high: float | None = None,
    ) -> Array:
        """Return an array of this type and shape (None: any length), finite, from low to high."""
        found = self.get(name)
        sizes = ", ".join("n" if s is None else str(s) for s in shape)
        what = f"an array of {np.dtype(dtype)} of shape ({sizes})"
        if not isinstance(found, np.ndarray):
            raise self.refuse(name, type(found).__name__, what)
        fits = found.ndim == len(shape) and all(
            s is None or s == t for s, t in zip(shape, found.shape, strict=False)
        )
        if not fits or found.dtype != np.dtype(dtype):
            raise self.refuse(name, f"{found.dtype} of shape {found.shape}", what)
        if found.size == 0:
            return found
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            raise self.refuse(name, _first(found, ~np.isfinite(found)), "finite numbers")
        if low is not None and not found.min() >= low:
            raise self.refuse(name, _first(found, found < low), f"{low} or more")
        if high is not None and not found.max() <= high:
            raise self.refuse(name, _first(found, found > high), f"{high} at most")
        return found

    def limits(self, name: str, parts: int) -> Array:
        """Return the limits (parts + 1,) of ranges that stand in one line from 0 on."""
        found = self.array(name, np.int64, (parts + 1,))
        if found[0] != 0 or (np.diff(found) < 0).any():
            raise self.refuse(name, found[:5].tolist(), "numbers that rise from 0")
        return found

    def number(self, name: str, low: float = -math.inf, high: float = math.inf) -> float:
        """Return a finite number from low to high."""
        found = self.get(name)
        good = isinstance(found, int | float | np.number) and not isinstance(found, bool)
        if not (good and math.isfinite(found) and low <= found <= high):
            raise self.refuse(name, found, f"a finite number from {low} to {high}")
        return float(found)

    def whole(self, name: str, low: int, high: int = 2**62) -> int:
        """Return a whole number from low to high."""
        found = self.number(name, low, high)
        if found % 1 != 0:
            raise self.refuse(name, found, "a whole number")
        return int(found)

    def flag(self, name: str) -> bool:
        """Return true or false."""
        found = self.get(name)
        if not isinstance(found, bool | np.bool_):
            raise self.refuse(name, found, "true or false")
        return bool(found)

    def stream(self, name: str) -> None:
        """Check the state of a random generator."""
        try:
            np.random.default_rng(0).bit_generator.state = self.get(name)
        except (TypeError, ValueError, KeyError, OverflowError) as error:
            raise self.refuse(name, str(error), "the state of a random generator") from error


def _first(found: Array, bad: Array) -> str:
    """Return the first bad entry and where it is."""
    at = tuple(int(k[0]) for k in np.nonzero(bad))
    return f"{found[at]} at {list(at)}"


def check_finite(values: Any, where: str = "state", endless: bool = False) -> None:
    """Refuse a state with a number in it that is none, wherever it stands; endless: inf is one."""
    if isinstance(values, Mapping):
        for key, one in values.items():
            check_finite(one, f"{where}.{key}", endless)
    elif isinstance(values, list | tuple):
        for k, one in enumerate(values):
            check_finite(one, f"{where}[{k}]", endless)
    elif isinstance(values, float | np.floating | np.ndarray):
        found = np.atleast_1d(values)
        if found.dtype.kind != "f":
            return
        bad = np.isnan(found) if endless else ~np.isfinite(found)
        if bad.any():
            raise InputError(where, _first(found, bad), "finite numbers")


class Facts:
    """What the parts of a state have to agree on: its grains, before any of it is put back.

    n grains with `tag`s, rows `was` in the last list of contacts, of `materials` materials; real:
    their precision; changed: grains came or went since that list was made.
    """

    def __init__(self, grains: Saved, real: np.dtype[Any], materials: int) -> None:
        self.real, self.materials = real, materials
        self.changed = grains.flag("changed")
        grains.flag("reweighed")
        self.next_tag = grains.whole("next_tag", 0, TAGS)
        found = grains.get("x")
        if isinstance(found, np.ndarray) and found.dtype != real:
            raise grains.refuse("x", f"precision {found.dtype}", f"precision {real}")
        self.x = grains.array("x", real, (None, 4))
        self.n = len(self.x)
        if not (self.x[:, 3] > 0).all():
            raise grains.refuse("x", _first(self.x[:, 3], self.x[:, 3] <= 0), "radii above 0 m")
        self.v = grains.array("v", real, (self.n, 4))
        if not (self.v[:, 3] >= 0).all():
            raise grains.refuse(
                "v", _first(self.v[:, 3], self.v[:, 3] < 0), "inverse masses of 0 or more, 1/kg"
            )
        self.m = grains.array("m", np.float64, (self.n,))
        if not (self.m > 0).all():
            raise grains.refuse("m", _first(self.m, self.m <= 0), "masses above 0 kg")
        self.tag = grains.array("tag", np.int64, (self.n,), 0, self.next_tag - 1)
        if len(np.unique(self.tag)) != self.n:
            raise grains.refuse("tag", "a tag twice", "each tag once")
        self.material = grains.array("material", np.int32, (self.n,), 0, materials - 1)
        grains.array("warm", real, (self.n, 4))
        self.was = grains.array("was", np.int32, (self.n,), -1)
        grains.array("born", np.float32, (self.n,))

    def are_alike(self) -> bool:
        """Whether all grains have one radius and one mass, or it will be asked again anyway."""
        one = len(np.unique(self.x[:, 3])) <= 1 and len(np.unique(self.v[:, 3])) <= 1
        return self.changed or one

    def check_rows(self, rows: int, where: Saved) -> None:
        """Check that a list of contacts was made for the grains that there are."""
        if not self.changed and rows not in (0, self.n):
            raise where.refuse("rows", rows, f"{self.n}, one a grain")
        if self.was.max(initial=-1) >= max(rows, 1):
            raise where.refuse("rows", rows, f"more than {int(self.was.max())}, a row of before")
