"""A place among spheres: which of several points is clear of all of them."""

from __future__ import annotations

from berm.kernels.jit import jit


@jit
def first_clear(points, r, spheres):
    """Number of the first of the points (k, 3) at which a sphere of radius r touches none, or -1.

    spheres (n, 4): centre and radius.
    """
    for k in range(points.shape[0]):
        clear = True
        for i in range(spheres.shape[0]):
            dx = points[k, 0] - spheres[i, 0]
            dy = points[k, 1] - spheres[i, 1]
            dz = points[k, 2] - spheres[i, 2]
            apart = spheres[i, 3] + r
            if dx * dx + dy * dy + dz * dz < apart * apart:
                clear = False
                break
        if clear:
            return k
    return -1
