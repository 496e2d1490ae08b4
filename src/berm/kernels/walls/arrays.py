"""Arrays that the search for contacts with bodies takes together, and what they hold."""

from __future__ import annotations

from typing import Any, NamedTuple


class Shapes(NamedTuple):
    """All shapes of a world as flat arrays; see `distance`, `mesh_grid` and `heightfield`.

    One row a body: kind int64 (nb,), prm float64 (nb, PARAMS or more), mesh int64 (nb,): the number
    of its mesh or height field, -1 where it has none. Those stand in common arrays; number m has
    its triangles, starts, members, cells, fan starts, fans and heights at ranges[m]:ranges[m + 1].
    """

    kind: Any
    prm: Any
    mesh: Any
    ranges: Any  # int64 (nm + 1, 7)
    tri: Any
    normals: Any
    frame: Any  # float64 (nm, FRAME)
    dims: Any  # int64 (nm, 3); of a height field, how many heights along x and y, and 0
    starts: Any
    members: Any
    field: Any
    corners: Any
    fan_starts: Any
    fans: Any
    heights: Any  # float64, of all height fields, one after the other


# Columns of ranges.
TRI, STARTS, MEMBERS, CELLS, FAN_STARTS, FANS, HEIGHTS = range(7)
FRAME = 7


class Touches(NamedTuple):
    """Contacts of grains with bodies, by slab; cap is a multiple of 8 (eight are read at a time).

    Contacts of one grain are chained: first[row] is the flat slot (slab * cap + k) of its newest
    contact, follow[slab, k] the slot before that one, -1 the end.
    """

    rows: Any  # int32 (nslabs, cap): grain
    body: Any  # int32 (nslabs, cap)
    plane: Any  # real (nslabs, cap, 8)
    impulse: Any  # real (nslabs, cap, 4)
    total: Any  # real (nslabs, cap, 4)
    count: Any  # int64 (nslabs,): in use; above cap where they did not fit
    first: Any  # int32 (n,)
    follow: Any  # int32 (nslabs, cap)


class Scratch(NamedTuple):
    """Room for the search itself."""

    blocks: Any  # real (nslabs, blocks, 9): bounds of each BLOCK rows
    legs: Any  # float64 (nslabs, cap, 8): ways that walls bend
    leg_count: Any  # int64 (nslabs,)
    claim: Any  # int32 (slots of the old contacts,): which new contact took the impulse over
