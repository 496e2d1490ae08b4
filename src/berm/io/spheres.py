"""Shaded spheres on a flat picture, in NumPy alone: for stills without a graphics card."""

from __future__ import annotations

import numpy as np

_LIGHT = np.array([-0.45, 0.65, 0.62])  # from the upper left, before the picture
_AMBIENT, _DIFFUSE, _SHINE = 0.38, 0.72, 0.10
_OCCLUSION = 0.55  # darkest shade of a grain that sits deep between others
_HAZE = 0.28  # how far the farthest grains fade
_REACH = 48  # samples over which a neighbourhood is averaged, at most
_SAMPLES = 2  # a pixel's edge is averaged over this many samples


def draw_spheres(
    points: np.ndarray,
    radii: np.ndarray,
    colours: np.ndarray,
    extent: tuple[float, float, float, float],
    pixels: tuple[int, int],
) -> np.ndarray:
    """Return an RGBA picture (height, width, 4) of spheres seen from before, without perspective.

    points (n, 3): right, up, toward the viewer; radii (n,); colours (n, 3) in 0..1;
    extent: left, right, low, high of the picture in the units of `points`.
    """
    width, height = pixels[0] * _SAMPLES, pixels[1] * _SAMPLES
    left, right, low, high = extent
    scale = width / (right - left)
    cx = (points[:, 0] - left) * scale
    cy = (high - points[:, 1]) * height / (high - low)
    cz = (points[:, 2] - points[:, 2].min()) * scale if len(points) else points[:, 2]
    r = np.maximum(radii * scale, 0.7)
    depth, owner = _nearest(cx, cy, cz, r, width, height)
    rows, cols = np.nonzero(owner >= 0)
    own = owner[rows, cols]
    normal_x = (cols + 0.5 - cx[own]) / r[own]
    normal_y = -(rows + 0.5 - cy[own]) / r[own]
    normal_z = np.sqrt(np.maximum(0.0, 1.0 - normal_x**2 - normal_y**2))
    light = _LIGHT / np.linalg.norm(_LIGHT)
    lit = np.clip(normal_x * light[0] + normal_y * light[1] + normal_z * light[2], 0, 1)
    half = light + np.array([0, 0, 1.0])
    half /= np.linalg.norm(half)
    glint = np.clip(normal_x * half[0] + normal_y * half[1] + normal_z * half[2], 0, 1) ** 24
    shade = (_AMBIENT + _DIFFUSE * lit) * _openness(depth, float(np.median(r)) if len(r) else 1.0)[
        rows, cols
    ]
    colour = colours[own] * shade[:, None] + _SHINE * glint[:, None]
    if len(own):
        far, near = float(cz.min()), float(cz.max())
        haze = _HAZE * (near - cz[own]) / max(near - far, 1e-9)
        colour += haze[:, None] * (np.array([0.93, 0.91, 0.88]) - colour)
    picture = np.zeros((height, width, 4), dtype=np.float32)
    picture[rows, cols, :3] = np.clip(colour, 0, 1)
    picture[rows, cols, 3] = 1.0
    return _average(picture, pixels)


def _nearest(
    cx: np.ndarray, cy: np.ndarray, cz: np.ndarray, r: np.ndarray, width: int, height: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each sample, the depth of the nearest surface and the sphere that it is on."""
    depth = np.full((height, width), -np.inf)
    owner = np.full((height, width), -1, dtype=np.int64)
    x0 = np.maximum(np.floor(cx - r).astype(int), 0)
    x1 = np.minimum(np.ceil(cx + r).astype(int) + 1, width)
    y0 = np.maximum(np.floor(cy - r).astype(int), 0)
    y1 = np.minimum(np.ceil(cy + r).astype(int) + 1, height)
    along_x, along_y = np.arange(width) + 0.5, np.arange(height) + 0.5
    for i in np.nonzero((x0 < x1) & (y0 < y1))[0]:
        patch = (slice(y0[i], y1[i]), slice(x0[i], x1[i]))
        bulge = r[i] ** 2 - (
            (along_x[patch[1]] - cx[i]) ** 2 + ((along_y[patch[0]] - cy[i]) ** 2)[:, None]
        )
        surface = cz[i] + np.sqrt(np.maximum(bulge, 0))
        front = (bulge > 0) & (surface > depth[patch])
        depth[patch][front] = surface[front]
        owner[patch][front] = i
    return depth, owner


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
