"""Columns: the soil of a terrain on a grid, with its masses to the last quantum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.saved import Saved
from berm.core.soil import Soil
from berm.kernels.terrain import columns as kernels
from berm.world.terrain.windows import Window, part_of

Array = npt.NDArray[Any]

RATE = 0.5  # of half the excess height that slides at once
PASSES = 4  # of slides a call


def whole(mass: npt.ArrayLike) -> Array:
    """Round masses (kg) to whole quanta, so that sums of them are exact."""
    return np.floor(np.asarray(mass, float) / kernels.QUANTUM + 0.5) * kernels.QUANTUM


class Columns:
    """Masses and volumes of ground and loose soil by column; see `kernels.terrain.columns`.

    rock, height (nx, ny) m; layers: soils of the ground from the bottom up, by their number in
    `soils`; mass (layers + soils, nx, ny) kg; volume (layers + 1, nx, ny) m^3. Heights of natural
    layers' tops are `tops` (layers, nx, ny), the last of them the surface.
    """

    def __init__(
        self, rock: Array, tops: Array, cell: float, soils: Sequence[Soil], layers: Sequence[int]
    ) -> None:
        nx, ny = rock.shape
        self.cell, self.area = cell, cell * cell
        self.soils = tuple(soils)
        self.of = np.array(layers, np.int64)
        self.rock = rock
        below = np.concatenate([rock[None], tops[:-1]])
        self.volume = np.zeros((len(layers) + 1, nx, ny))
        self.volume[:-1] = (tops - below) * self.area
        self.mass = np.zeros((len(layers) + len(soils), nx, ny))
        for layer, soil in enumerate(layers):
            self.mass[layer] = whole(self.volume[layer] * soils[soil].density)
        self.height = rock + self.volume.sum(axis=0) / self.area
        self.kept = np.zeros_like(self.mass)  # what columns lost to grains, see `refill`
        self.kept_volume = np.zeros_like(self.volume)
        self.moving = np.zeros(0, np.int64)  # columns whose slopes may slide
        self._marked = np.zeros((nx, ny), np.bool_)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of columns along x and y."""
        nx, ny = self.height.shape
        return nx, ny

    @property
    def loose(self) -> Array:
        """Volume (m^3) of loose soil on each column."""
        return self.volume[len(self.of)]

    @property
    def masses(self) -> Array:
        """Mass (kg) of each soil in all columns together, exact."""
        found = np.zeros(len(self.soils))
        for layer, soil in enumerate(self.of.tolist()):
            found[soil] += self.mass[layer].sum()
        for soil in range(len(self.soils)):
            found[soil] += self.mass[len(self.of) + soil].sum()
        return found

    def lower(self, corner: tuple[int, int], wanted: Array) -> Array:
        """Lower columns to heights `wanted` (n, m), where below them; return masses (K,) taken.

        What each lost is remembered until `forget`.
        """
        taken = np.zeros(len(self.soils))
        here = (slice(None), *part_of(corner, wanted))
        self.kept[here] += self.mass[here]
        self.kept_volume[here] += self.volume[here]
        kernels.lower(
            self.mass, self.volume, self.rock, self.height, self.of, self.area, *corner, wanted,
            taken,
        )  # fmt: skip
        self.kept[here] -= self.mass[here]
        self.kept_volume[here] -= self.volume[here]
        return taken

    def refill(self, corner: tuple[int, int], level: Array, where: Array) -> Array:
        """Put back what marked columns lost, as it lay, up to `level` (m); return masses (K,)."""
        back = np.zeros(len(self.soils))
        kernels.refill(
            self.mass, self.volume, self.rock, self.height, self.kept, self.kept_volume, self.of,
            self.area, *corner, level, where, back,
        )  # fmt: skip
        return back

    def forget(self, corner: tuple[int, int], where: Array) -> None:
        """No longer remember what marked columns lost."""
        here = (slice(None), *part_of(corner, where))
        for kept in (self.kept, self.kept_volume):
            kept[here][:, where] = 0.0

    def heap(self, corner: tuple[int, int], masses: Array, volumes: Array) -> None:
        """Put loose soil on columns: whole masses (K, n, m) kg with volumes (n, m) m^3."""
        kernels.heap(
            self.mass, self.volume, self.rock, self.height, len(self.of), self.area, *corner,
            masses, volumes,
        )  # fmt: skip

    def soils_at(self, i: Array, j: Array, z: Array) -> Array:
        """Numbers (k,) of the soils at heights z (k,) m in columns i, j (k,)."""
        found = np.empty(len(z), np.int64)
        kernels.soils_at(self.mass, self.volume, self.rock, self.of, self.area, i, j, z, found)
        return found

    def repay(self, window: Window, where: Array, owed: Array) -> None:
        """Give loose soil of marked columns mass that is owed (K,) kg, or take it where below 0.

        Volumes stay: densities go up to that of the bank, or down to loose; owed is what is left.
        """
        i0, i1, j0, j1 = window
        volume = self.loose[i0:i1, j0:j1]
        loose = self.mass[len(self.of) :, i0:i1, j0:j1]
        total = loose.sum(axis=0)
        for k, soil in enumerate(self.soils):
            mine = where & (loose[k] > 0.0)
            if owed[k] > 0.0:
                room = np.where(mine, volume * soil.density - total, 0.0)
            else:
                room = np.where(mine, total - volume * soil.loose_density, 0.0)
                room = np.minimum(room, loose[k])
            room = np.maximum(room, 0.0)
            if owed[k] == 0.0 or room.sum() <= 0.0:
                continue
            share = room * min(1.0, abs(float(owed[k])) / float(room.sum()))
            share = np.sign(owed[k]) * np.floor(share / kernels.QUANTUM) * kernels.QUANTUM
            loose[k] += share
            total += share
            owed[k] -= share.sum()

    def disturb(self, window: Window) -> None:
        """Ask the columns of a window, from the next slide on, whether they still stand."""
        i0, i1, j0, j1 = window
        i, j = np.mgrid[i0:i1, j0:j1]
        self.moving = np.union1d(self.moving, (i * self.shape[1] + j).ravel())

    def slide(self, covered: Array, gravity: float, passes: int = PASSES) -> Window | None:
        """Let slopes slide that are too steep; covered (nx, ny): columns that stay as they are.

        Returns the window of what changed. Only columns that were disturbed are asked, and those
        next to what slid.
        """
        if not len(self.moving):
            return None
        table = np.array([
            (math.tan(math.radians(one.repose_angle)), one.loose_density, one.cohesion,
             math.radians(one.friction_angle), one.density)
            for one in self.soils
        ])  # fmt: skip
        nx, ny = self.shape
        window = np.array([nx, 0, ny, 0])
        self.moving = kernels.slides(
            self.mass, self.volume, self.rock, self.height, covered, self.of, table, self.area,
            self.cell, gravity, RATE, self.moving, passes, self._marked, window,
        )  # fmt: skip
        if window[0] >= window[1]:
            return None
        i0, i1, j0, j1 = window.tolist()
        return i0, i1, j0, j1

    # ---- state ----------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return all that changes."""
        return {
            "mass": self.mass.copy(), "volume": self.volume.copy(), "height": self.height.copy(),
            "moving": self.moving.copy(), "kept": self.kept.copy(),
            "kept_volume": self.kept_volume.copy(),
        }  # fmt: skip

    def check(self, saved: Saved) -> None:
        """Refuse a state that is not one of these columns."""
        saved.array("mass", np.float64, self.mass.shape, 0.0)
        saved.array("volume", np.float64, self.volume.shape, 0.0)
        saved.array("height", np.float64, self.height.shape)
        saved.array("kept", np.float64, self.mass.shape, 0.0)
        saved.array("kept_volume", np.float64, self.volume.shape, -1e-6)
        saved.array("moving", np.int64, (None,), 0, self.height.size - 1)

    def restore(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        self.mass[:], self.volume[:] = state["mass"], state["volume"]
        self.kept[:], self.kept_volume[:] = state["kept"], state["kept_volume"]
        self.height[:], self.moving = state["height"], state["moving"].copy()
