"""The half list of pairs in sliced ELLPACK, laid out so that eight rows can be worked on at once.

A slice is eight rows of a slab that share no grain: neither a row nor a neighbour of one is a row
or a neighbour of another. So their contacts may be answered at the same time with the same outcome
as one after the other. Rows with about equally many neighbours go together; a slice that finds no
eighth row leaves lanes idle. Slot k of slice q holds eight neighbours at
nbr[8 * (ptr[q] + k) + lane]; a lane without a contact there holds its own row. Slices part[s] to
part[s + 1] belong to slab s.

The order in which contacts are answered is kept from list to list as far as it goes: one sweep does
not converge, so what it leaves depends on the order, and an order that changes shakes a bed.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inner, jit, pjit, prange

MAX_COUNT = 256  # neighbour counts above this share one bucket in the sort
LOOK = 48  # rows that are looked at for a lane before it stays idle


@inner
def _sort_rows(low, high, count, queue):
    """Rows with neighbours, by falling count, far ones after each other; return how many."""
    rows = high - low
    eighth = (rows + 7) // 8
    bucket = np.zeros(MAX_COUNT + 2, np.int64)
    for i in range(low, high):
        if count[i] > 0:
            bucket[MAX_COUNT - min(count[i], MAX_COUNT) + 1] += 1
    for b in range(MAX_COUNT + 1):
        bucket[b + 1] += bucket[b]
    for k in range(8 * eighth):
        # one of each eighth in turn: neighbours in the queue are apart in space
        i = low + (k % 8) * eighth + k // 8
        if i < high and count[i] > 0:
            b = MAX_COUNT - min(count[i], MAX_COUNT)
            queue[low + bucket[b]] = i
            bucket[b] += 1
    return bucket[MAX_COUNT]


@jit
def keep_order(slab, unit, count, now, o_lanes, o_home, queue, length):
    """Queue the rows of each slab as they stood in the last list, new ones at the end.

    now[old row]: row of the same grain, -1 where it is gone; queue[slab[s] :]: length[s] rows.
    """
    slabs = slab.shape[0] - 1
    of_unit = np.empty((slab[slabs] + unit - 1) // unit, np.int64)
    for s in range(slabs):
        length[s] = 0
        for u in range(slab[s] // unit, (slab[s + 1] + unit - 1) // unit):
            of_unit[u] = s
    queued = np.zeros(slab[slabs], np.bool_)
    for p in range(o_lanes.shape[0]):
        old = o_lanes[p]
        if o_home[old] != p:
            continue  # an idle lane
        i = now[old]
        if i >= 0 and count[i] > 0:
            s = of_unit[i // unit]
            queue[slab[s] + length[s]] = i
            length[s] += 1
            queued[i] = True
    for s in range(slabs):
        for i in range(slab[s], slab[s + 1]):
            if count[i] > 0 and not queued[i]:
                queue[slab[s] + length[s]] = i
                length[s] += 1


@pjit
def sort_rows(slab, count, queue, length):
    """Queue the rows of each slab by the number of their neighbours."""
    for number in prange(slab.shape[0] - 1):
        s = np.int64(number)  # one type, one compile
        length[s] = _sort_rows(slab[s], slab[s + 1], count, queue)


@inner
def _reach_slab(s, slab, found, count, first):
    """Where each row's neighbours begin in `found`, and the rows that the slab touches."""
    low = slab[s]
    high = slab[s + 1]
    at = np.int64(0)
    for i in range(slab[s], slab[s + 1]):
        first[i - slab[s]] = at
        for k in range(at, at + count[i]):
            low = min(low, np.int64(found[s, k]))
            high = max(high, np.int64(found[s, k]) + 1)
        at += count[i]
    return low, high


@inner
def _free(i, slot, found, s, number, mark, low, stamp):
    """Whether neither row i nor its neighbours are taken by the slice."""
    if mark[i - low] == stamp:
        return False
    for k in range(slot, slot + number):
        if mark[found[s, k] - low] == stamp:
            return False
    return True


@inner
def _arrange_slab(s, slab, found, count, queue, length, lanes, width, reach):
    """Give the queued rows of a slab to slices; return how many slices there are."""
    base = slab[s]
    rows = slab[s + 1] - base
    first = np.empty(rows, np.int64)
    low, high = _reach_slab(s, slab, found, count, first)
    reach[s, 0] = low
    reach[s, 1] = high
    left = length[s]
    follow = np.arange(1, rows + 2)  # next row in the queue, rows that are gone left out
    mark = np.full(high - low, -1, np.int32)
    head = np.int64(0)
    slices = np.int64(0)
    while head < left:
        lane = 0
        before = np.int64(-1)
        at = head
        looked = 0
        while lane < 8 and at < left and looked < LOOK:
            i = queue[base + at]
            after = follow[at]
            slot = first[i - base]
            fits = _free(i, slot, found, s, count[i], mark, low, slices)
            # taken, or held back: nothing that touches it may come before it
            mark[i - low] = slices
            for k in range(slot, slot + count[i]):
                mark[found[s, k] - low] = slices
            if fits:
                lanes[s, 8 * slices + lane] = i
                width[s, slices] = max(count[i], width[s, slices] if lane > 0 else 0)
                if before < 0:
                    head = after
                else:
                    follow[before] = after
                lane += 1
            else:
                before = at
            at = after
            looked += 1
        for idle in range(lane, 8):
            lanes[s, 8 * slices + idle] = -1
        slices += 1
    return slices


@pjit
def arrange(slab, found, count, queue, length, lanes, width, reach, part):
    """Slices of each slab into lanes[s] (-1: idle) and width[s]; their number to part[s + 1]."""
    for number in prange(slab.shape[0] - 1):
        s = np.int64(number)
        part[s + 1] = _arrange_slab(
            s, slab, found, count, queue, length, lanes, width, reach
        )


@inner
def _turned_impulse(a, b, o_ptr, o_nbr, o_imp, o_home, imp, slot, lane):
    """Carry the impulse of old rows (a, b) over that was listed as (b, a), if it was."""
    home = o_home[b]
    if home < 0:
        return
    for k in range(o_ptr[home // 8], o_ptr[home // 8 + 1]):
        if o_nbr[8 * k + home % 8] == a:
            for c in range(3):
                imp[24 * slot + 8 * c + lane] = -o_imp[24 * k + 8 * c + home % 8]
            return


@inner
def _fill_slab(
    s, slab, part, found, count, rough, lanes, ptr, nbr, imp, home, was, now, o_ptr, o_nbr, o_imp,
    o_home, reach,
):  # fmt: skip
    base = slab[s]
    low = reach[s, 0]
    first = np.empty(slab[s + 1] - base, np.int64)
    mark = np.full(reach[s, 1] - low, -1, np.int32)
    at = np.int64(0)
    for i in range(base, slab[s + 1]):
        first[i - base] = at
        at += count[i]
        home[i] = -1
    carry = o_nbr.shape[0] > 0
    for q in range(part[s], part[s + 1]):
        for lane in range(8):
            row = rough[s, 8 * (q - part[s]) + lane]
            slot = ptr[q]
            if row >= 0:
                home[row] = 8 * q + lane
                begin = first[row - base]
                end = begin + count[row]
                for k in range(begin, end):
                    mark[found[s, k] - low] = row
                a = was[row] if carry else -1
                if a >= 0 and o_home[a] >= 0:  # first those that it had, in their order
                    old = o_home[a] // 8
                    lane_a = o_home[a] % 8
                    for k in range(o_ptr[old], o_ptr[old + 1]):
                        b = o_nbr[8 * k + lane_a]
                        if b == a:
                            break
                        j = now[b]
                        if j >= low and j < reach[s, 1] and mark[j - low] == row:
                            mark[j - low] = -1
                            nbr[8 * slot + lane] = j
                            for c in range(3):
                                imp[24 * slot + 8 * c + lane] = o_imp[24 * k + 8 * c + lane_a]
                            slot += 1
                for k in range(begin, end):
                    j = found[s, k]
                    if mark[j - low] == row:
                        mark[j - low] = -1
                        nbr[8 * slot + lane] = j
                        for c in range(3):
                            imp[24 * slot + 8 * c + lane] = 0.0
                        if a >= 0 and was[j] >= 0:
                            _turned_impulse(
                                a, was[j], o_ptr, o_nbr, o_imp, o_home, imp, slot, lane
                            )
                        slot += 1
            else:
                row = rough[s, 8 * (q - part[s])]
            lanes[8 * q + lane] = row
            while slot < ptr[q + 1]:
                nbr[8 * slot + lane] = row
                for c in range(3):
                    imp[24 * slot + 8 * c + lane] = 0.0
                slot += 1


@pjit
def fill(
    slab, part, found, count, rough, lanes, ptr, nbr, imp, home, was, now, o_ptr, o_nbr, o_imp,
    o_home, reach,
):  # fmt: skip
    """Write the sliced list and carry old impulses over."""
    for number in prange(slab.shape[0] - 1):
        s = np.int64(number)
        _fill_slab(
            s, slab, part, found, count, rough, lanes, ptr, nbr, imp, home, was, now, o_ptr, o_nbr,
            o_imp, o_home, reach,
        )  # fmt: skip
