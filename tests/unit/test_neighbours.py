"""The neighbour list against all pairs by brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from berm.core.errors import SimulationError
from berm.core.grains import Grains
from berm.kernels.search.neighbours import KNOCK
from berm.solvers.search.candidate_list import CandidateList
from berm.solvers.search.contact_list import ContactList, colour_slabs, slab_limits
from berm.solvers.search.patched_list import PatchedList
from tests.moved_rows import shuffle_rows

DT, SKIN = 1 / 60, 0.1


def cloud(n, seed, spread=1.0, poly=1.0, speed=0.0, drift=0.0, outlier=False):
    rng = np.random.default_rng(seed)
    side = int(np.ceil(n ** (1 / 3)))
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), -1).reshape(-1, 3)[:n]
    where = 0.039 * spread * grid + rng.normal(0, 0.002, (n, 3))
    radius = 0.02 / poly + (0.02 - 0.02 / poly) * rng.random(n)
    if outlier:
        where[0] += 500.0
    grains = Grains(np.float32)
    shuffle = rng.permutation(n)
    velocity = rng.normal(0, speed + 1e-12, (n, 3)) - [0, 0, drift]
    grains.append(where[shuffle], radius, velocity, 1 / radius**3, 0, 0.0)
    return grains


def listed(grains, contacts):
    i, j = contacts.pairs()
    pairs = [tuple(sorted(p)) for p in zip(grains.tag[i], grains.tag[j], strict=True)]
    assert len(pairs) == len(set(pairs)), "a pair is listed twice"
    return set(pairs)


def must_be_listed(grains):
    """Pairs that come within the skin on their straight ways."""
    order = np.argsort(grains.tags)
    x = grains.position[order].astype(float)
    r = grains.radius[order].astype(float)
    e = DT * grains.velocity[order].astype(float)
    pairs = set()
    for i in range(len(x)):
        d, w = x - x[i], e - e[i]
        t = np.clip(-(d * w).sum(1) / np.maximum((w * w).sum(1), 1e-30), 0, 1)
        near = np.linalg.norm(d + t[:, None] * w, axis=1) <= (r + r[i]) * (1 + 0.499 * SKIN)
        pairs |= {(min(i, j), max(i, j)) for j in np.flatnonzero(near) if j != i}
    return pairs


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"poly": 5.0},
        {"speed": 1.0},
        {"speed": 5.0, "poly": 5.0},
        {"spread": 3.0, "speed": 4.0},
        {"spread": 3.0, "speed": 4.0, "drift": 60.0},
        {"outlier": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("n", [1, 7, 65, 500])
def test_list_holds_all_near_pairs(n, options):
    grains = cloud(n, seed=n, **options)
    contacts = ContactList(np.float32)
    contacts.build(grains, DT, SKIN)
    have = listed(grains, contacts)
    assert must_be_listed(grains) <= have
    if not options.get("speed"):
        r_most = 2 * float(grains.radius.max()) * (1 + SKIN)
        where = grains.position[np.argsort(grains.tags)].astype(float)
        for i, j in have:
            assert np.linalg.norm(where[i] - where[j]) <= r_most


@pytest.mark.parametrize("options", [{"poly": 5.0}, {"speed": 3.0}, {"speed": 3.0, "poly": 5.0}])
def test_list_without_look_ahead_holds_the_pairs_at_predicted_positions(options):
    grains = cloud(500, seed=11, **options)
    contacts = ContactList(np.float32, ahead=False)
    contacts.build(grains, DT, SKIN)
    order = np.argsort(grains.tags)
    p = (grains.position + np.float32(DT) * grains.velocity)[order].astype(float)
    r = grains.radius[order].astype(float)
    gap = np.linalg.norm(p[:, None] - p[None], axis=2) - r[:, None] - r[None]
    near = set(
        zip(*np.nonzero(np.triu(gap <= 0.49 * SKIN * (r[:, None] + r[None]), 1)), strict=True)
    )
    far = set(
        zip(*np.nonzero(np.triu(gap <= 0.51 * SKIN * (r[:, None] + r[None]), 1)), strict=True)
    )
    assert near <= listed(grains, contacts) <= far


def predicted(grains):
    """Positions in a step, and radii, by tag."""
    order = np.argsort(grains.tags)
    p = (grains.position + np.float32(DT) * grains.velocity)[order].astype(float)
    return p, grains.radius[order].astype(float)


def touching(p, r):
    gap = np.linalg.norm(p[:, None] - p[None], axis=2) - r[:, None] - r[None]
    return set(zip(*np.nonzero(np.triu(gap < -1e-6, 1)), strict=True))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("options", [{}, {"poly": 5.0}, {"speed": 0.01}, {"speed": 3.0, "poly": 5}])
@pytest.mark.parametrize("n", [3, 500])
def test_candidates_hold_all_that_may_touch_until_a_grain_leaves_its_room(n, options, whole):
    grains = cloud(n, seed=5, **options)
    contacts = CandidateList(np.float32)
    assert contacts.has_left(grains, DT, whole)
    contacts.build_for(grains, DT, 2 * SKIN, whole)
    room = np.sqrt(contacts.ref[:, 3:])
    flows = room.max() == 0.0  # where no list lives, it has no room
    assert flows == (options.get("speed", 0.0) > 1.0 and not whole)
    assert contacts.has_left(grains, DT, whole) == flows
    have = listed(grains, contacts)
    assert touching(*predicted(grains)) <= have
    if whole:  # on the way there, too
        way = grains.position + 0.5 * np.float32(DT) * grains.velocity
        assert touching(way[np.argsort(grains.tags)].astype(float), predicted(grains)[1]) <= have
    rng = np.random.default_rng(1)
    for reach, left in ((0.99, False), (1.05, True)):
        side = rng.normal(size=(n, 3))
        side *= reach * room / np.linalg.norm(side, axis=1)[:, None]
        grains.v[:n, :3] = (contacts.ref[:, :3] + side - grains.position) / DT
        assert contacts.has_left(grains, DT, False) == (left or flows)
        if not left:
            assert touching(*predicted(grains)) <= have


def test_a_thin_layer_that_falls_has_cells():
    """Cells are those of where grains go; where they are, a step away, there may be none."""
    flat = np.stack(np.meshgrid(np.arange(10.0), np.arange(10.0), [2.0]), -1).reshape(-1, 3)
    grains = Grains(np.float32)
    grains.append(flat, np.full(100, 0.02), np.tile([0, 0, -10.0], (100, 1)), np.ones(100), 0, 0.0)
    _, dims, _ = ContactList(np.float32)._grid(grains, DT, SKIN)
    assert dims.min() >= 1 and dims.max() > 1


@pytest.mark.parametrize("far", [1e4, 1e8, 1e16, 1e30])
def test_a_grain_that_got_lost_does_not_ask_for_more_cells_than_there_is_memory(far):
    grains = Grains(np.float32)
    place, speed = np.array([[0, 0, 0], [0, 0, 0.039], [far, 0, 0]]), np.zeros((3, 3))
    grains.append(place, np.full(3, 0.02), speed, np.ones(3), 0, 0.0)
    _, dims, _ = ContactList(np.float32)._grid(grains, DT, SKIN)
    assert dims.min() >= 1 and dims.astype(float).prod() < 1e5
    contacts = ContactList(np.float32)
    contacts.build(grains, DT, SKIN)
    assert listed(grains, contacts) == {(0, 1)}


def test_candidates_of_a_flow_are_those_that_touch():
    grains = cloud(500, seed=5, speed=3.0)
    contacts = CandidateList(np.float32)
    contacts.build_for(grains, DT, 2 * SKIN, False)
    assert touching(*predicted(grains)) == listed(grains, contacts)


def test_impulses_follow_their_pairs_through_sorting():
    grains = cloud(300, seed=1)
    contacts = ContactList(np.float32)
    contacts.build(grains, DT, SKIN)
    i, j = contacts.pairs()
    mark = {}
    slots = np.flatnonzero(
        contacts.lanes.reshape(-1, 8)[
            np.repeat(np.arange(len(contacts.ptr) - 1), np.diff(contacts.ptr))
        ].reshape(-1)
        != contacts.nbr
    )
    rng = np.random.default_rng(0)
    for a, b, slot in zip(i, j, slots, strict=True):
        value = rng.normal(size=3).astype(np.float32)
        for c in range(3):
            contacts.imp[24 * (slot // 8) + 8 * c + slot % 8] = value[c]
        mark[int(grains.tag[a]), int(grains.tag[b])] = value
    # shuffle all rows, remove some grains, add one
    shuffle_rows(grains, rng)
    gone = set(grains.tags[:20].tolist())
    grains.remove(np.arange(grains.n) < 20)
    grains.append(np.array([[9.0, 9, 9]]), 0.02, np.zeros(3), 1.0, 0, 0.0)
    contacts.build(grains, DT, SKIN)
    i, j = contacts.pairs()
    slots = np.flatnonzero(
        contacts.lanes.reshape(-1, 8)[
            np.repeat(np.arange(len(contacts.ptr) - 1), np.diff(contacts.ptr))
        ].reshape(-1)
        != contacts.nbr
    )
    seen = 0
    for a, b, slot in zip(i, j, slots, strict=True):
        ta, tb = int(grains.tag[a]), int(grains.tag[b])
        value = np.array([contacts.imp[24 * (slot // 8) + 8 * c + slot % 8] for c in range(3)])
        if (ta, tb) in mark:
            np.testing.assert_array_equal(value, mark[ta, tb])
        else:
            np.testing.assert_array_equal(value, -mark[tb, ta])
        seen += 1
    assert seen == sum(1 for a, b in mark if a not in gone and b not in gone)


def test_list_goes_stale_only_when_somebody_left_its_way():
    grains = cloud(200, seed=2)
    grains.v[5, :3] = (3.0, 0.0, 0.0)
    grains.v[6:, :3] = 0.0
    contacts = ContactList(np.float32)
    assert contacts.is_stale(grains, 0.0)
    contacts.build(grains, DT, SKIN)
    fast, slow = (int(np.argmax(np.abs(grains.v[:200, 0]) > 2.9)), 0)
    slow = int(np.flatnonzero(np.abs(grains.v[:200, :3]).max(axis=1) == 0.0)[0])
    assert not contacts.is_stale(grains, 0.0)
    grains.x[fast, 0] += 0.9 * DT * 3.0  # goes on as it was going
    assert not contacts.is_stale(grains, 0.0)
    grains.x[fast, 0] -= 0.5 * DT * 3.0  # is stopped half way
    assert not contacts.is_stale(grains, 0.0)
    room = (0.5 * SKIN + KNOCK) * float(grains.x[slow, 3])
    grains.x[slow, 1] += 0.9 * room
    assert not contacts.is_stale(grains, 0.0)
    grains.x[slow, 1] += 0.2 * room
    assert contacts.is_stale(grains, 0.0)


@pytest.mark.parametrize("count", [90, 700, 3000])
def test_rows_of_a_slice_share_no_grain_and_keep_their_order(count):
    grains = cloud(count, seed=3)
    contacts = ContactList(np.float32)
    contacts.build(grains, DT, SKIN)

    def order_of_pairs():
        """Place of each pair of tags in the order of answers, and the slices' grains."""
        places = {}
        for q in range(len(contacts.ptr) - 1):
            seen = []
            for lane in range(8):
                row = contacts.lanes[8 * q + lane]
                nbr = contacts.nbr[8 * contacts.ptr[q] + lane : 8 * contacts.ptr[q + 1] : 8]
                mine = set(nbr[nbr != row].tolist())
                if mine:
                    seen += [row, *mine]
                    for k, j in enumerate(nbr[nbr != row]):
                        pair = tuple(sorted((int(grains.tag[row]), int(grains.tag[j]))))
                        places[pair] = (q, k)
            assert len(seen) == len(set(seen))
        return places

    before = order_of_pairs()
    assert len(before) == len(contacts.pairs()[0]) > 0
    grains.x[:count, :3] += np.random.default_rng(0).normal(0, 1e-5, (count, 3)).astype(np.float32)
    contacts.build(grains, DT, SKIN)
    after = order_of_pairs()
    by_grain = {}
    for pair in before.keys() & after.keys():
        for tag in pair:
            by_grain.setdefault(tag, []).append(pair)
    kept = [
        (before[a] < before[b]) == (after[a] < after[b])
        for pairs in by_grain.values()
        for k, a in enumerate(pairs)
        for b in pairs[:k]
    ]
    assert np.mean(kept) > 0.98


def test_colours_keep_slabs_apart():
    rng = np.random.default_rng(1)
    low = np.sort(rng.integers(0, 1000, 40))
    reach = np.stack([low, low + rng.integers(1, 120, 40)], axis=1)
    colour, turn = colour_slabs(reach)
    assert sorted(turn.tolist()) == list(range(40))
    for first, last in itertools.pairwise(colour):
        rows = np.concatenate([np.arange(*reach[s]) for s in turn[first:last]])
        assert len(rows) == len(set(rows.tolist()))


def test_slabs_depend_on_the_number_of_grains_only():
    for n in (1, 63, 64, 65, 2000, 20_000, 100_003, 1_000_000):
        limits = slab_limits(n)
        assert limits[0] == 0 and limits[-1] == n and (np.diff(limits) > 0).all()
        assert (limits[:-1] % 64 == 0).all()


def test_non_finite_grain_is_named():
    grains = cloud(50, seed=3)
    grains.v[7, 1] = np.nan
    with pytest.raises(SimulationError, match=f"grain {int(grains.tag[7])} "):
        ContactList(np.float32).build(grains, DT, SKIN)


def check_slices(contacts):
    """Rows of a slice share no grain, each row has one lane, slabs touch the rows they say."""
    homes = 0
    for q in range(len(contacts.ptr) - 1):
        seen = []
        for lane in range(8):
            row = contacts.lanes[8 * q + lane]
            nbr = contacts.nbr[8 * contacts.ptr[q] + lane : 8 * contacts.ptr[q + 1] : 8]
            if contacts.home[row] == 8 * q + lane:
                homes += 1
                real = nbr != row
                assert not (~real[:-1] & real[1:]).any(), "a lane has a hole"
                seen += [row, *nbr[real]]
            else:
                assert row == contacts.lanes[8 * q] and (nbr == row).all()
        assert len(seen) == len(set(seen))
    assert homes == (contacts.home >= 0).sum()
    for s in range(contacts.slabs):
        low, high = contacts.reach[s]
        first, last = contacts.part[s], contacts.part[s + 1]
        who = np.concatenate([
            contacts.lanes[8 * first : 8 * last],
            contacts.nbr[8 * contacts.ptr[first] : 8 * contacts.ptr[last]],
        ])  # fmt: skip
        assert ((who >= low) & (who < high)).all()


def remembered(grains, contacts):
    """Impulse of each pair of tags, on the first of them."""
    told = {}
    for q in range(len(contacts.ptr) - 1):
        for slot in range(contacts.ptr[q], contacts.ptr[q + 1]):
            for lane in range(8):
                i, j = contacts.lanes[8 * q + lane], contacts.nbr[8 * slot + lane]
                if i != j:
                    p = contacts.imp[24 * slot + lane : 24 * slot + 24 : 8]
                    a, b = int(grains.tag[i]), int(grains.tag[j])
                    told[min(a, b), max(a, b)] = tuple(p if a < b else -p)
    return told


@pytest.mark.parametrize("seed", range(4))
def test_a_patched_list_holds_what_a_fresh_one_does(seed):
    """Grains come, go and stray: all near pairs are there, once, with what they remembered."""
    rng = np.random.default_rng(seed)
    grains, contacts = cloud(500, seed, speed=0.02), PatchedList(np.float32)
    contacts.least = 1
    contacts.renew(grains, DT, DT / 10, SKIN)
    patched = 0
    for _ in range(12):
        contacts.imp[:] = rng.normal(0, 1, len(contacts.imp))
        before = remembered(grains, contacts)
        if rng.random() < 0.7:
            gone = np.zeros(grains.n, bool)
            gone[rng.choice(grains.n, 3, replace=False)] = True
            grains.remove(gone)
        if rng.random() < 0.7:
            where = grains.x[rng.choice(grains.n, 3), :3] + rng.normal(0, 0.03, (3, 3))
            grains.append(where, np.full(3, 0.02), rng.normal(0, 1, (3, 3)), np.ones(3), 0, 0.0)
        far = rng.choice(grains.n, 4, replace=False)
        grains.x[far, :3] += rng.normal(0, 0.02, (4, 3))
        contacts.renew(grains, DT, DT / 10, SKIN)
        patched += contacts.late
        assert not grains.changed and contacts.slab[-1] == grains.n
        check_slices(contacts)
        i, j = contacts.pairs()
        here = {(min(a, b), max(a, b)) for a, b in zip(grains.tag[i], grains.tag[j], strict=True)}
        assert len(here) == len(i), "a pair is listed twice"
        place = {tag: row for row, tag in enumerate(grains.tag[: grains.n].tolist())}
        ranks = np.sort(grains.tags).tolist()
        assert {(ranks[a], ranks[b]) for a, b in must_be_listed(grains)} <= here
        after = remembered(grains, contacts)
        alive = {p: v for p, v in before.items() if p[0] in place and p[1] in place}
        assert all(after[p] == alive.get(p, (0, 0, 0)) for p in after)
    assert patched >= 6
