"""Starts of P2 that would throw grains about: told, so that nothing flies off without a word."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from berm.solvers.base import WorldView

if TYPE_CHECKING:
    from berm.solvers.p2.solver import P2

DEEP = 0.5  # radii: what starts deeper than this in a wall or another grain is thrown out


def warn_of_deep_starts(p2: P2, world: WorldView) -> None:
    """Warn of grains that came since the last call and are deep in walls, at first also in grains.

    Contacts with bodies were found before for the coming step.
    """
    grains, known = world.grains, p2.known_tags
    p2.known_tags = grains.next_tag
    walls = p2.walls
    used = np.arange(walls.rows.shape[1]) < walls.count[:, None]
    rows = walls.rows[used]
    used[used] = (grains.tag[rows] >= known) & (grains.v[rows, 3] > 0)  # fixed ones stay there
    if used.any():
        rows, body, plane = walls.rows[used], walls.body[used], walls.plane[used]
        x = grains.x[rows]
        share = 1.0 - ((plane[:, :3] * x[:, :3]).sum(axis=1) - plane[:, 3]) / x[:, 3]
        worst = int(share.argmax())
        if share[worst] > DEEP:
            _warn(
                f"grain {grains.tag[rows[worst]]} starts {share[worst]:.2g} radii deep in "
                f"body {world.bodies.names[body[worst]]!r}, which will throw it out", share,
            )  # fmt: skip
    if known == 0:
        i, j = p2.contacts.pairs()
        moves = grains.v[i, 3] + grains.v[j, 3] > 0
        i, j, x = i[moves], j[moves], grains.x
        far = np.linalg.norm(x[i, :3] - x[j, :3], axis=1)
        share = (x[i, 3] + x[j, 3] - far) / np.minimum(x[i, 3], x[j, 3])
        worst = int(share.argmax()) if len(share) else -1
        if worst >= 0 and share[worst] > DEEP:
            _warn(
                f"grains {grains.tag[i[worst]]} and {grains.tag[j[worst]]} start "
                f"{share[worst]:.2g} radii deep in each other, and will fly apart: call "
                "world.separate() first", share,
            )  # fmt: skip


def _warn(what: str, share: np.ndarray) -> None:
    several = int((share > DEEP).sum())
    warnings.warn(f"{what} ({several} contacts are deeper than {DEEP} radii)", stacklevel=5)
