"""What the state of contacts with bodies has to be before it is put back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.saved import Saved
from berm.core.shapes import Box, HeightField, Mesh
from berm.kernels.multibody.contact_list import MEMORY
from berm.kernels.walls.near_walls import DEEP, MESH_SLOTS

Array = npt.NDArray[Any]
FACES = 8  # of a shape that is no mesh, at most


def check_walls(
    saved: Saved, real: npt.DTypeLike, bodies: int, rows: int, slab: Array, sure: bool = True
) -> None:
    """Refuse a state of `Walls` that is not of `rows` particles in these slabs and these bodies.

    Walls for which nobody has looked yet have no slabs; sure: somebody has, if there are rows.
    """
    count = saved.array("count", np.int64, (None,), 0)
    slabs, used = len(count), int(count.max(initial=0))
    if slabs not in (0, len(slab) - 1) or (sure and rows and not slabs):
        raise saved.refuse("count", f"{slabs} slabs", f"{len(slab) - 1}, those of the grains")
    start = saved.array("slab_start", np.int64, (slabs + 1,))
    if slabs and not np.array_equal(start, slab):
        raise saved.refuse("slab_start", start[:5].tolist(), "the slabs of the grains")
    if int(saved.array("grains", np.int64, (), 0)) != rows and slabs:
        raise saved.refuse("grains", saved.get("grains"), f"{rows}, as many as there are")
    found = saved.array("rows", np.int32, (slabs, used))
    body = saved.array("body", np.int32, (slabs, used))
    plane = saved.array("plane", real, (slabs, used, 8))
    for name in ("impulse", "total"):
        saved.array(name, real, (slabs, used, 4))
    s, k = _in_use(count, used)
    if ((found[s, k] < start[s]) | (found[s, k] >= start[s + 1])).any():
        raise saved.refuse("rows", "a row of another slab", "rows of their own slab")
    if ((body[s, k] < 0) | (body[s, k] >= bodies)).any():
        raise saved.refuse("body", int(body[s, k].max()), f"0 to {bodies - 1}")
    if ((plane[s, k, 7] < 0) | (plane[s, k, 7] > 7)).any():
        raise saved.refuse("plane", "a turn out of its block", "turns of 0 to 7")


def check_boundaries(
    saved: Saved, width: int, bodies: Sequence[Any], rows: int, slab: Array
) -> None:
    """Refuse a state of `Boundaries` that is not of these bodies, and of spheres in these slabs."""
    count = saved.array("count", np.int64, (None,), 0)
    slabs, used = len(count), int(count.max(initial=0))
    if slabs not in (0, len(slab) - 1) or (rows and not slabs):
        raise saved.refuse("count", f"{slabs} slabs", f"{len(slab) - 1}, those of the spheres")
    row, body, face = (
        saved.array(name, np.int32, (slabs, used)) for name in ("row", "body", "face")
    )
    saved.array("hist", np.float64, (slabs, used, width + 3))
    s, k = _in_use(count, used)
    if ((row[s, k] < slab[s]) | (row[s, k] >= slab[s + 1])).any():
        raise saved.refuse("row", "a row of another slab", "rows of their own slab")
    if ((body[s, k] < 0) | (body[s, k] >= len(bodies))).any():
        raise saved.refuse("body", int(body[s, k].max()), f"0 to {len(bodies) - 1}")
    meshed = np.array([isinstance(b.shape, Mesh | HeightField) for b in bodies] + [False])
    most = np.array([6 if isinstance(b.shape, Box) else FACES for b in bodies] + [0])
    plain = ~meshed[body[s, k]]
    if ((face[s, k] < 0) | (face[s, k] >= most[body[s, k]]))[plain].any():
        raise saved.refuse("face", int(face.max()), "faces of their bodies")
    s, k = s[~plain], k[~plain]  # a mesh takes several in a row, one for each contact at once
    whole = len(s) % MESH_SLOTS == 0
    if whole and len(s):
        of_slot = face[s, k] % DEEP
        head = np.repeat(np.arange(0, len(s), MESH_SLOTS), MESH_SLOTS)
        whole = bool(
            (of_slot == np.arange(len(s)) % MESH_SLOTS).all()
            and (face[s, k] >= 0).all()
            and (s == s[head]).all()
            and (k == k[head] + of_slot).all()
            and (row[s, k] == row[s[head], k[head]]).all()
            and (body[s, k] == body[s[head], k[head]]).all()
        )
    if not whole:
        raise saved.refuse("face", "others", f"{MESH_SLOTS} in a row for each sphere at a mesh")


def check_multibody(saved: Saved) -> None:
    """Refuse a state of contacts between bodies that cannot be one."""
    saved.array("memory", np.float64, (None, MEMORY))
    saved.array("known", np.int64, (None,))


def _in_use(count: Array, used: int) -> tuple[Array, Array]:
    """Slabs and places of all contacts."""
    s, k = np.nonzero(np.arange(used) < count[:, None])
    return s, k
