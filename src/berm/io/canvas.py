"""Shaded spheres and triangles on a flat picture, in NumPy alone: stills without a graphics card.

One looks along -z without perspective: x is right, y up, z toward the viewer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from berm.core.triangles import vertex_normals

Array = NDArray[Any]

_LIGHT = np.array([-0.45, 0.65, 0.62])  # from the upper left, before the picture
_AMBIENT, _DIFFUSE, _SHINE = 0.38, 0.72, 0.10
_OCCLUSION = 0.55  # darkest shade of a grain that sits deep between others
_HAZE = 0.28  # how far the farthest grains fade
_PALE = np.array([0.93, 0.91, 0.88], np.float32)  # what they fade to
_REACH = 48  # samples over which a neighbourhood is averaged, at most
_SAMPLES = 2  # a pixel's edge is averaged over this many samples
_EDGE = 0.5  # samples by which a sheet is thicker than nothing, so that one sees it on edge
_FOLD = 1 / 120  # of the picture's width: size of what shades, where there are no spheres


class _Layer(Protocol):
    """Spheres or triangles, in samples."""

    @property
    def middle(self) -> Array:
        """Depths (n,)."""
        ...

    @property
    def colour(self) -> Array:
        """Colours (n, 3)."""
        ...

    def normals(self, own: Array, x: Array, y: Array) -> Array:
        """Return the normals (k, 3) of things `own` (k,) at samples (k,)."""
        ...


class Canvas:
    """A picture of `pixels` (width, height) with left, right, low and high end `extent`.

    Of each sample it keeps how near the nearest surface is and what it belongs to.
    """

    def __init__(self, extent: tuple[float, float, float, float], pixels: tuple[int, int]) -> None:
        self.pixels = pixels
        self.width, self.height = pixels[0] * _SAMPLES, pixels[1] * _SAMPLES
        left, right, low, high = extent
        self.corner = np.array([left, low, 0.0])
        self.scale = np.array([self.width / (right - left), self.height / (high - low), 0.0])
        self.scale[2] = self.scale[0]
        self.depth = np.full((self.height, self.width), -np.inf)  # first row below
        self.owner = np.full((self.height, self.width), -1, dtype=np.int64)
        self.layers: list[_Layer] = []
        self.count = 0
        self.grain = _FOLD * self.width  # samples

    def add_spheres(self, points: Array, radii: Array, colours: Array) -> None:
        """Add spheres: points (n, 3), radii (n,), colours (n, 3) in 0..1."""
        centre = (points - self.corner) * self.scale
        r = np.maximum(radii * self.scale[0], 0.7)
        for i, patch, x, y in self._patches(centre[:, :2] - r[:, None], centre[:, :2] + r[:, None]):
            bulge = r[i] ** 2 - ((x - centre[i, 0]) ** 2 + (y - centre[i, 1]) ** 2)
            self._show(patch, bulge > 0, centre[i, 2] + np.sqrt(np.maximum(bulge, 0)), i)
        if len(r):
            self.grain = float(np.median(r))
        self._close(_Spheres(centre[:, 2], colours, centre, r))

    def add_triangles(self, vertices: Array, faces: Array, colour: Array) -> None:
        """Add a sheet that is seen from both sides: vertices (v, 3), faces (f, 3)."""
        corner = ((vertices - self.corner) * self.scale)[faces]  # (f, 3, 3)
        sheet = _Sheet(corner, vertex_normals(vertices, faces)[faces], colour)
        low, high = corner.min(axis=1), corner.max(axis=1)
        for i, patch, x, y in self._patches(low[:, :2], high[:, :2]):
            first, second, third, depth = (a + b * x + c * y for a, b, c in sheet.over[i])
            inside = np.minimum(np.minimum(first, second), third) > -_EDGE
            self._show(patch, inside, np.clip(depth, low[i, 2], high[i, 2]), i)
        self._close(sheet)

    def _patches(self, low: Array, high: Array) -> Any:
        """Yield number, slices and coordinates x (1, w) and y (h, 1) of the samples in each box."""
        start = np.maximum(np.floor(np.nan_to_num(low)).astype(int), 0)
        stop = np.ceil(np.nan_to_num(high)).astype(int) + 1
        stop = np.minimum(stop, [self.width, self.height])
        along, up = np.arange(self.width) + 0.5, np.arange(self.height)[:, None] + 0.5
        for i in np.nonzero((start < stop).all(axis=1))[0]:
            columns, rows = (slice(start[i, k], stop[i, k]) for k in (0, 1))
            yield i, (rows, columns), along[None, columns], up[rows]

    def _show(self, patch: Any, inside: Array, surface: Array, number: int) -> None:
        front = inside & (surface > self.depth[patch])
        self.depth[patch][front] = surface[front]
        self.owner[patch][front] = self.count + number

    def _close(self, layer: _Layer) -> None:
        self.layers.append(layer)
        self.count += len(layer.middle)

    def picture(self) -> Array:
        """Return the RGBA picture (height, width, 4), first row on top."""
        out = np.zeros((self.height, self.width, 4), dtype=np.float32)
        if self.count:
            out[self.owner >= 0] = self._shaded()
        return _average(out[::-1], self.pixels)

    def _shaded(self) -> Array:
        """Return colour and cover (k, 4) of the samples that something covers."""
        rows, columns = np.nonzero(self.owner >= 0)
        own = self.owner[rows, columns]
        normal, colour = (np.zeros((len(own), 3), np.float32) for _ in range(2))
        start = 0
        for layer in self.layers:
            mine = (own >= start) & (own < start + len(layer.middle))
            which = own[mine] - start
            normal[mine] = layer.normals(which, columns[mine] + 0.5, rows[mine] + 0.5)
            colour[mine] = layer.colour[which]
            start += len(layer.middle)
        light = (_LIGHT / np.linalg.norm(_LIGHT)).astype(np.float32)
        half = light + np.array([0.0, 0.0, 1.0], np.float32)
        half /= np.linalg.norm(half)
        shade = _AMBIENT + _DIFFUSE * np.clip(normal @ light, 0, 1)
        shade *= _openness(self.depth, self.grain).astype(np.float32)[rows, columns]
        glint = np.clip(normal @ half, 0, 1) ** 24
        colour = colour * shade[:, None] + _SHINE * glint[:, None]
        middle = np.concatenate([layer.middle for layer in self.layers])
        far, near = float(middle.min()), float(middle.max())
        haze = _HAZE * ((near - middle) / max(near - far, 1e-9)).astype(np.float32)[own, None]
        colour += haze * (_PALE - colour)
        return np.column_stack([np.clip(colour, 0, 1), np.ones(len(own), np.float32)])


@dataclass(frozen=True, eq=False)
class _Spheres:
    middle: Array
    colour: Array
    centre: Array
    radius: Array

    def normals(self, own: Array, x: Array, y: Array) -> Array:
        flat = (np.column_stack([x, y]) - self.centre[own, :2]) / self.radius[own, None]
        return np.column_stack([flat, np.sqrt(np.maximum(0.0, 1.0 - (flat**2).sum(axis=1)))])


class _Sheet:
    """Triangles; what changes over one is a + b x + c y, kept as rows (a, b, c).

    over (f, 4, 3): distance from each side, inwards, and depth; facing (f, 3, 3): the normal.
    corner, normal (f, 3, 3): place and normal of each corner.
    """

    def __init__(self, corner: Array, normal: Array, colour: Array) -> None:
        self.middle: Array = corner[:, :, 2].mean(axis=1)
        self.colour: Array = np.tile(colour, (len(corner), 1))
        x, y = corner[:, :, 0], corner[:, :, 1]
        to_x, to_y = np.roll(x, -1, axis=1) - x, np.roll(y, -1, axis=1) - y
        left = np.stack([to_y * x - to_x * y, -to_y, to_x], axis=2)  # twice the area beside a side
        area = left.sum(axis=1)[:, 0]
        length = np.maximum(np.hypot(to_x, to_y), 1e-9)
        side = left / length[..., None] * np.where(area < 0, -1.0, 1.0)[:, None, None]
        thin = np.abs(area) < length.max(axis=1)  # less than a sample high: the same all over
        share = np.roll(left, -1, axis=1) / np.where(thin, 1.0, area)[:, None, None]
        share[thin] = [1 / 3, 0.0, 0.0]  # of each corner at a place
        depth = np.einsum("fkp,fk->fp", share, corner[:, :, 2])
        self.over = np.concatenate([side, depth[:, None]], axis=1).tolist()
        self.facing: Array = np.einsum("fkp,fkn->fpn", share, normal).astype(np.float32)

    def normals(self, own: Array, x: Array, y: Array) -> Array:
        a, b, c = (self.facing[:, k][own] for k in range(3))
        smooth = a + b * x.astype(np.float32)[:, None] + c * y.astype(np.float32)[:, None]
        length = np.sqrt(np.einsum("kn,kn->k", smooth, smooth))
        # the side that is seen looks at us
        return np.asarray(smooth / np.copysign(np.maximum(length, 1e-12), smooth[:, 2])[:, None])


def _openness(depth: np.ndarray, radius: float) -> np.ndarray:
    """Return 1 where a sample stands free and less where its neighbourhood is nearer to us."""
    empty = ~np.isfinite(depth)
    filled = np.where(empty, depth[~empty].min() if not empty.all() else 0.0, depth)
    reach = min(max(1, round(1.5 * radius)), _REACH)
    around = _blur(_blur(filled, reach), reach)
    covered = np.clip((around - filled) / (2.0 * radius), 0, 1)
    return np.asarray(1.0 - _OCCLUSION * covered)


def _blur(image: np.ndarray, reach: int) -> np.ndarray:
    """Return the mean over a square of 2 reach + 1 samples, from running sums."""
    for axis in (0, 1):
        pad = [(0, 0), (0, 0)]
        pad[axis] = (reach + 1, reach)
        sums = np.cumsum(np.pad(image, pad, mode="edge"), axis=axis)
        size, count = 2 * reach + 1, image.shape[axis]
        if axis == 0:
            image = (sums[size : size + count] - sums[:count]) / size
        else:
            image = (sums[:, size : size + count] - sums[:, :count]) / size
    return image


def _average(picture: np.ndarray, pixels: tuple[int, int]) -> np.ndarray:
    """Return the picture at `pixels`, colours weighted by their cover."""
    shape = (pixels[1], _SAMPLES, pixels[0], _SAMPLES, 4)
    picture[..., :3] *= picture[..., 3:]
    out = picture.reshape(shape).mean(axis=(1, 3))
    cover = out[..., 3:]
    np.divide(out[..., :3], cover, out=out[..., :3], where=cover > 0)
    return np.asarray(out)
