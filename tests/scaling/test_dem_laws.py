"""Scaling laws of granular matter with discrete elements: CASES B2-B4, B9-B11 and J1.

Limits are those of CASES.md. Numbers of the last run, with the solver of commit 30c65ea, stand in
the docstrings.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from berm.core.materials import Material
from berm.core.motion import Linear
from berm.core.shapes import Box, Cylinder, Plane
from berm.laws.tangential_history import History
from berm.scenes.base import run_scene
from berm.solvers.choice import Choice
from berm.solvers.dem.solver import DEM
from berm.world.emitters import Sink
from berm.world.measure import FlowMeter, height_map, packing_fraction
from berm.world.packings import random_drop
from berm.world.world import World

pytestmark = pytest.mark.slow

G = 9.81
THIN = 0.2  # share of the room that falling grains fill at first
TURN = {  # a plane's normal, +z, to these directions
    "x": [[0, 0, 1], [0, 1, 0], [-1, 0, 0]],
    "-x": [[0, 0, -1], [0, 1, 0], [1, 0, 0]],
    "y": [[1, 0, 0], [0, 0, 1], [0, -1, 0]],
    "-y": [[1, 0, 0], [0, 0, -1], [0, 1, 0]],
}


def stuff(name="grain", friction=0.5, **values):
    """A material with one friction coefficient."""
    given = {"density": 2500.0, "young_modulus": 1e7, "restitution": 0.3, **values}
    return Material(name, friction_static=friction, friction_kinetic=friction, **given)


def sides(world, wide, deep, wall, front):
    """Four endless walls: `wall` at x = +-wide / 2, `front` at y = +-deep / 2."""
    for axis, material, sign, half in (
        ("x", wall, -1, wide / 2), ("-x", wall, 1, wide / 2),
        ("y", front, -1, deep / 2), ("-y", front, 1, deep / 2),
    ):  # fmt: skip
        place = (sign * half, 0, 0) if "x" in axis else (0, sign * half, 0)
        world.add_body(
            Plane(), name=f"wall {axis}", material=material, position=place, rotation=TURN[axis]
        )


# ---- flow through a slot -------------------------------------------------------------------


def discharge(world, place, radius, grain, wall, opening, settle, flow):
    """Let grains settle on a lid over `opening` (x and y, m), take it away, weigh what falls.

    Returns times since then (s) and mass (kg). The bottom around the opening is the caller's.
    """
    thick = 10 * radius
    world.add_body(
        Box((1.2 * opening[0], 1.2 * opening[1], thick)), name="lid", material=wall,
        position=(0, 0, -thick / 2), motion=Linear((0, 0, -5.0), start=settle),
    )  # fmt: skip
    world.add_sink(Sink((-np.inf, -np.inf, -np.inf), (np.inf, np.inf, -15 * radius)))
    world.add_grains(place, radius, material=grain)
    world.run(settle)
    meter = FlowMeter((0, 0, -radius))
    world.run(flow, recorders=[meter])
    return np.array(meter.times) - settle, np.array(meter.mass)


def hopper(place, radius, grain, wall, wide, deep, slot, settle, flow, **options):
    """Discharge through a slot (m) in a flat bottom.

    Front and back are smooth walls in place of the periodic boundaries of the sources.
    """
    world = World(dt=2e-3, solver=DEM(**options), seed=1)
    sides(world, wide, deep, wall, wall.replace(name="smooth", friction=0.0))
    thick, half = 10 * radius, (wide - slot) / 2
    for name, sign in (("left", -1), ("right", 1)):
        world.add_body(
            Box((half, 2 * deep, thick)), name=name, material=wall,
            position=(sign * (slot + half) / 2, 0, -thick / 2),
        )  # fmt: skip
    return discharge(world, place, radius, grain, wall, (slot, 2 * deep), settle, flow)


def slope(t, mass, low, high):
    """Rate (kg/s) between two moments."""
    used = (t >= low) & (t <= high)
    return float(np.polyfit(t[used], mass[used], 1)[0])


def test_b2_flat_hopper_anand_2008():
    """82.1 g/s +- 12 % (Anand et al. 2008; Lethe 82.8 and 87.4), slot 25.09 mm: 76.4 g/s.

    As Lethe's example: E 1 MPa, rolling friction 0.1786, rate from 0.25 to 0.75 s after opening.
    """
    d, wide, deep = 2.24e-3, 0.12544, 5.6e-3
    place, _ = random_drop((-wide / 2, -deep / 2, 0), (wide / 2, deep / 2, 0.335), d / 2, 6790)
    grain = stuff(friction=0.2, young_modulus=1e6, restitution=0.94, rolling_friction=0.1786)
    wall = grain.replace(name="wall", restitution=0.9)
    t, mass = hopper(place, d / 2, grain, wall, wide, deep, 0.025088, 0.4, 0.76, rolling="constant")
    rate = 1e3 * slope(t, mass, 0.25, 0.75)
    print(f"B2: {rate:.1f} g/s")
    assert rate == pytest.approx(82.1, rel=0.12)


@functools.cache
def slot_flow(openings):
    """Times and mass out of a slot of `openings` diameters, grains of 2 cm."""
    d = 0.02
    wide, deep, count = 26 * d, 5 * d, 4200
    high = count * math.pi / 6 * d**3 / (THIN * wide * deep)
    place, _ = random_drop((-wide / 2, -deep / 2, 0), (wide / 2, deep / 2, high), d / 2, count)
    grain = stuff(friction=0.5)
    t, mass = hopper(place, d / 2, grain, grain.replace(name="wall"), wide, deep, openings * d,
                     0.8, 0.8)  # fmt: skip
    return t, mass, count * math.pi / 6 * d**3 * grain.density


def test_b3_beverloo_exponent_of_a_slot():
    """Rate ~ (D - 1.4 d)^1.5 +- 0.3 for D / d = 5 to 8: 1.60."""
    sizes = (5.0, 6.3, 8.0)
    rates = [slope(*slot_flow(size)[:2], 0.2, 0.8) for size in sizes]
    exponent = np.polyfit(np.log(np.array(sizes) - 1.4), np.log(rates), 1)[0]
    print(f"B3: rates {rates} kg/s, exponent {exponent:.3f}")
    assert exponent == pytest.approx(1.5, abs=0.3)


HOLE_D = 0.02  # m, grains of the silo with a hole
SILO = 26 * HOLE_D  # its diameter: more than twice the largest hole


def silo(hole):
    """A round silo, and a flat bottom with a hole of this diameter (m)."""
    wall = stuff("wall")
    world = World(dt=2e-3, solver=DEM(start_overlap=0.2), seed=1)
    thick, rim = 5 * HOLE_D, 2 * HOLE_D
    world.add_body(
        Cylinder(SILO / 2, 8 * SILO, inside=True, open_ends=True, wall=rim), name="mantle",
        material=wall, position=(0, 0, 4 * SILO - thick),
    )  # fmt: skip
    world.add_body(
        Cylinder(hole / 2, thick, inside=True, open_ends=True, wall=(SILO + rim - hole) / 2),
        name="bottom", material=wall, position=(0, 0, -thick / 2),
    )  # fmt: skip
    return world, wall


@functools.cache
def silo_bed():
    """Settled grains (positions, m), 23 diameters deep, and their bulk density (kg/m^3)."""
    count, r = 14_000, HOLE_D / 2
    high = 1.4 * count * math.pi / 6 * HOLE_D**3 / (THIN * math.pi / 4 * SILO**2)
    half = SILO / 2
    place, _ = random_drop((-half, -half, 0), (half, half, high), r, int(count * 4 / math.pi * 1.3))
    place = place[np.hypot(place[:, 0], place[:, 1]) < half - r][:count]
    assert len(place) == count
    world, wall = silo(0.4 * HOLE_D)  # a hole that no grain enters
    world.add_grains(place, r, material=stuff())
    world.run(1.2)
    x = world.grains.position.copy()
    assert len(x) == count and x[:, 2].min() > 0
    box = np.array([6.0 * HOLE_D, 6.0 * HOLE_D])
    fraction = packing_fraction(world, ((*-box, 3 * HOLE_D), (*box, 15 * HOLE_D)))
    return x, fraction * wall.density


@functools.cache
def hole_flow(openings):
    """Rate (kg/s) through a hole of `openings` diameters."""
    world, wall = silo(openings * HOLE_D)
    place, _ = silo_bed()
    hole = (openings * HOLE_D, openings * HOLE_D)
    t, mass = discharge(world, place, HOLE_D / 2, stuff(), wall, hole, 0.1, 0.8)
    return slope(t, mass, 0.2, 0.8)


def test_b3_beverloo_exponent_of_a_hole():
    """Rate ~ (D - 1.4 d)^2.5 +- 0.3 for D / d = 6 to 12: 2.52; C about 0.58, k about 1.4.

    C and k of W = C rho sqrt(g) (D - k d)^2.5, rho at rest, from the line of W^0.4 over D: 0.52 and
    1.52. They hang together, and with k held at 1.4, C is 0.50. Limits: Nedderman (1992) has C
    0.55-0.65, less the more friction there is (0.5 here), and k 1.4 for spheres; four holes do not
    give them more exactly than 0.5-0.7 and 1-2.
    """
    sizes = np.array([6.0, 7.5, 9.5, 12.0])
    rates = np.array([hole_flow(size) for size in sizes])
    _, bulk = silo_bed()
    exponent = np.polyfit(np.log(sizes - 1.4), np.log(rates), 1)[0]
    scale = bulk * math.sqrt(G) * HOLE_D**2.5
    rise, at_zero = np.polyfit(sizes, (rates / scale) ** 0.4, 1)
    c, k = rise**2.5, -at_zero / rise
    held = (rates / scale / (sizes - 1.4) ** 2.5).mean()
    print(f"B3 hole: rates {rates} kg/s, bulk {bulk:.0f} kg/m3, exponent {exponent:.3f}, "
          f"C {c:.3f}, k {k:.2f}; C {held:.3f} with k 1.4")  # fmt: skip
    assert exponent == pytest.approx(2.5, abs=0.3)
    assert 0.5 < c < 0.7
    assert 1.0 < k < 2.0


def test_b4_rate_does_not_depend_on_the_head():
    """Second half over first half of the discharge: 1 +- 0.2 (1.00), while the head falls."""
    t, mass, whole = slot_flow(6.3)
    first, second = slope(t, mass, 0.2, 0.5), slope(t, mass, 0.5, 0.8)
    left = 1 - mass[-1] / whole
    print(f"B4: ratio {second / first:.3f}, head left {left:.2f}, fluid {math.sqrt(left):.2f}")
    assert left < 0.8
    assert second / first == pytest.approx(1.0, abs=0.2)


# ---- packing -------------------------------------------------------------------------------


STIFF = 2e5  # m g / d, linear springs of Silbert et al., PRE 65, 031304 (2002); k_t = 2/7 k_n


def packing(friction, stiffness):
    """A world of equal spheres that fell into a box, stiffness in m g / d, and its width (m)."""
    d, count = 0.02, 2600
    wide = 13 * d
    high = count * math.pi / 6 * d**3 / (THIN * wide**2)
    place, _ = random_drop((-wide / 2, -wide / 2, 0), (wide / 2, wide / 2, high), d / 2, count)
    grain = stuff(friction=friction, restitution=0.2)
    weight = grain.density * math.pi / 6 * d**3 * G
    grain = grain.replace(stiffness=stiffness * weight / d)
    law = History(stiffness=2 / 7)
    world = World(dt=1e-2, solver=DEM(normal="linear", tangential=law), seed=1)
    world.add_body(Plane(), material=grain)
    sides(world, wide, wide, grain, grain)
    world.add_grains(place, d / 2, material=grain)
    world.run(1.3)
    return world, wide


@functools.cache
def packed(friction, stiffness=STIFF):
    """Packing fraction and coordination number in the middle, 3 diameters from walls and top."""
    world, wide = packing(friction, stiffness)
    x, d = world.grains.position, 2 * float(world.grains.radius[0])
    top = float(np.quantile(x[:, 2], 0.98))
    low = np.array([-wide / 2 + 3 * d, -wide / 2 + 3 * d, 2.5 * d])
    high = np.array([wide / 2 - 3 * d, wide / 2 - 3 * d, top - 3 * d])
    i, j, deep = world.solver.touching(world)
    contacts = np.bincount(np.concatenate([i, j]), minlength=world.grains.n)
    inner = ((x > low) & (x < high)).all(axis=1)
    held = inner & (contacts >= (4 if friction == 0 else 2))  # the others rattle
    fraction = packing_fraction(world, (low, high))
    print(f"B9: mu {friction}, k {stiffness:.0e}: fraction {fraction:.4f}, "
          f"z {contacts[held].mean():.2f}, {inner.sum()} grains, {(inner & ~held).sum()} rattle, "
          f"overlap {deep.mean() / d:.1e} d, energy {world.report.kinetic_energy:.1e} J",
          flush=True)  # fmt: skip
    return fraction, float(contacts[held].mean())


@pytest.mark.parametrize(
    ("friction", "low", "high"), [(0.0, 0.62, 0.65), (0.3, 0.58, 0.61), (10.0, 0.55, 0.58)]
)
def test_b9_packing_fraction(friction, low, high):
    """Random packings of equal spheres: 0.640, 0.597 at 0.3, 0.580 at large mu.

    The last is only just within: other seeds gave 0.578 and 0.581. Loosest packings are laid down
    gently (Onoda, Liniger 1990), these fall 0.5 m.
    """
    assert low <= packed(friction)[0] <= high


@pytest.mark.parametrize(("friction", "contacts"), [(0.0, 6.0), (0.3, 4.5)])
def test_b9_coordination_number(friction, contacts):
    """About 6 without friction (5.91), about 4.5 at 0.3 (4.79); both +- 0.5.

    The numbers of the case are those of hard grains: Agnolin and Roux (2007) have 4.5 at 0.3 for
    glass under 10 kPa, overlaps of some 1e-5 d. So grains are as stiff as Silbert's, which overlap
    by 4e-5 d. With Young's modulus 1e8 Pa, overlaps 1e-3 d, it was 5.1 to 5.2, a miss. Grains that
    nothing holds are left out; under gravity with friction there are none, while about a tenth of
    Agnolin and Roux' rattle. These fell 0.5 m where theirs were compressed evenly; with restitution
    0.88 in place of 0.2 they pack more densely, 4.93 at a fraction of 0.605.
    """
    assert packed(friction)[1] == pytest.approx(contacts, abs=0.5)


def test_b9_soft_grains_have_more_contacts():
    """z falls with stiffness: 5.36, 5.02, 4.79 at overlaps of 3.2e-3, 3.7e-4, 4.2e-5 d.

    That is about 4.75 + 11 sqrt(overlap / d), the square root of Silbert et al. (2002).
    """
    soft, medium, stiff = packed(0.3, 2e3)[1], packed(0.3, 2e4)[1], packed(0.3)[1]
    assert soft > medium > stiff


def test_b9_friction_needs_fewer_contacts():
    """5.91, 4.79 and 4.36 contacts a grain without friction, at 0.3 and at 10."""
    smooth, common, rough = (packed(friction)[1] for friction in (0.0, 0.3, 10.0))
    assert smooth > common > rough > 4.0


# ---- drum ----------------------------------------------------------------------------------

DRUM = {"drum": 0.2, "width": 0.1, "settle": 0.6}


def test_b10_dynamic_angle_grows_with_speed():
    """The faster a drum turns, the steeper its bed: 38.9, 39.1, 45.5 degrees."""
    angles = []
    for froude, turns in ((3e-3, 0.25), (3e-2, 0.6), (1.5e-1, 1.2)):
        run = run_scene("drum", {**DRUM, "froude": froude, "turns": turns}, solver="dem")
        angle = run.history["angle"][len(run.history) // 2 :]
        angles.append(float(np.nanmean(angle)))
    print(f"B10: angles {angles}")
    assert 15.0 < angles[0] < 50.0
    assert angles[0] < angles[1] < angles[2]


@pytest.mark.parametrize(("froude", "centrifuges"), [(0.3, False), (2.0, True)])
def test_b10_drum_centrifuges_above_froude_one(froude, centrifuges):
    """Well above Fr = 1 a thin bed goes round with the mantle: 0.95 of it, or more.

    At Fr = 1.5, 0.947 did: the innermost of three layers, at 0.7 R, is only just held.
    """
    run = run_scene("drum", {**DRUM, "froude": froude, "turns": 4.0, "filling": 0.15}, solver="dem")
    x, v = run.world.grains.position, run.world.grains.velocity
    turning = (x[:, 2] * v[:, 0] - x[:, 0] * v[:, 2]) / (x[:, 0] ** 2 + x[:, 2] ** 2)
    share = float((np.abs(turning / run.params.omega - 1.0) < 0.1).mean())
    print(f"B10: Fr {froude}: {share:.3f} turn with the drum")
    assert (share > 0.95) == centrifuges


# ---- craters -------------------------------------------------------------------------------


@functools.cache
def bed():
    """Settled grains (positions, m) in a box 1.2 m wide."""
    d, wide, count = 0.04, 1.2, 9500
    high = count * math.pi / 6 * d**3 / (THIN * wide**2)
    place, _ = random_drop((-wide / 2, -wide / 2, 0), (wide / 2, wide / 2, high), d / 2, count)
    world = crater_world()
    world.add_grains(place, d / 2, material=stuff())
    world.run(1.0)
    return world.grains.position.copy()


def crater_world():
    grain = stuff()
    world = World(dt=1e-2, solver=DEM(start_overlap=0.2), seed=1)
    world.add_body(Plane(), material=grain)
    sides(world, 1.2, 1.2, grain, grain)
    return world


SPOTS = ((0.0, 0.0), (0.08, 0.08), (-0.08, -0.08))  # m: where the ball falls
FAR = 23  # rings around a spot that lie in the box


@functools.cache
def craters():
    """Total drops H, depths and diameters (m) of craters of a ball dropped from 0.1 to 1.6 m.

    Geometric means of three spots: the rim of a single crater is known to a grain, 8 % of it.
    """
    rows = []
    for drop in (0.1, 0.25, 0.63, 1.6):
        made = np.array([crater(drop, spot) for spot in SPOTS])
        depth, wide = np.exp(np.log(made).mean(axis=0))
        rows.append((drop + depth, depth, wide))
        print(f"B11: drop {drop}: depths, diameters (m) {made.T.round(4).tolist()}", flush=True)
    return np.array(rows).T


def crater(drop, spot):
    """Depth and diameter of the rim (m) after a ball fell from `drop` (m) on a spot of the bed."""
    ball, middle = 0.08, np.array(spot)
    world = crater_world()
    world.add_grains(bed(), 0.02, material=stuff())
    near = np.hypot(*(bed()[:, :2] - middle).T) < ball
    surface = float(height_map(world, floor=0.0, low=(-0.5, -0.5), high=(0.5, 0.5)).heights.mean())
    flat = rings(world.grains.x[: world.grains.n], middle)
    start = float(bed()[near, 2].max()) + 0.021 + ball
    tag = world.add_grains(
        [[*spot, start]],
        ball,
        (0, 0, -math.sqrt(2 * G * drop)),
        material=stuff("ball", density=7800.0),
    )
    world.run(0.6)
    row = world.grains.rows_of(tag)[0]
    depth = surface - (float(world.grains.position[row, 2]) - ball)
    rest = np.delete(world.grains.x[: world.grains.n], row, axis=0)
    return depth, rim_diameter(rings(rest, middle) - flat)


def rings(spheres, middle):
    """Mean height (m) of the surface in rings 0.02 m wide around the middle (x, y)."""
    grid = height_map(spheres, floor=0.0, low=(-0.58, -0.58), high=(0.58, 0.58))
    x, y = np.meshgrid(grid.x - middle[0], grid.y - middle[1], indexing="ij")
    ring = (np.hypot(x, y) / 0.02).astype(int)
    inside = ring < FAR
    return np.bincount(ring[inside], grid.heights[inside]) / np.bincount(ring[inside])


def rim_diameter(change):
    """Diameter (m) of the ring around the middle that rose most."""
    smooth = np.convolve(change, [0.25, 0.5, 0.25], "valid")  # from ring 1 on
    crest = int(np.argmax(smooth))
    if 0 < crest < len(smooth) - 1:  # the top of a parabola through three rings
        a, b, c = smooth[crest - 1 : crest + 2]
        shift = 0.5 * (a - c) / (a - 2 * b + c)
    else:
        shift = 0.0
    return 2 * 0.02 * (crest + 1 + 0.5 + shift)


def test_b11_crater_depth():
    """Depth ~ H^(1/3), H from the top of the fall to the deepest point (Uehara 2003), +- 0.1: 0.40.

    A steel ball of 4 grains across. One as light as the grains went in by half a grain only, too
    little to tell (0.020, 0.029, 0.047 m from 0.1, 0.25, 0.63 m: about 0.48).
    """
    total, depth, _ = craters()
    exponent = np.polyfit(np.log(total), np.log(depth), 1)[0]
    print(f"B11: depth exponent {exponent:.3f}")
    assert exponent == pytest.approx(1 / 3, abs=0.1)


def test_b11_crater_diameter():
    """Diameter of the rim ~ H^(1/4) (Walsh 2003), +- 0.08: 0.24.

    One crater a height gave 0.21 and, with other bits, 0.16: a rim varies by a tenth from spot to
    spot, hence three of them.
    """
    total, _, wide = craters()
    exponent = np.polyfit(np.log(total), np.log(wide), 1)[0]
    print(f"B11: diameter exponent {exponent:.3f}")
    assert exponent == pytest.approx(1 / 4, abs=0.08)


# ---- silo ----------------------------------------------------------------------------------


def on_floor(options=None, **params):
    """Share of the weight on the floor of a silo."""
    run = run_scene("silo", params, solver=Choice("dem", options or {}))
    print(f"J1: {params}: " + "; ".join(str(outcome) for outcome in run.outcomes), flush=True)
    return float(run.history.last("floor", 0.7).mean())


def test_j1_janssen_saturates():
    """At most half the weight at 5 diameters; what it carries rises by at most 0.1 W up to 8.

    0.30 W at 5, 0.16 W at 8: a change by 0.04 of the weight at 5. The floor sinks by half a radius
    first, as in experiments, so that friction is mobilised.
    """
    five, eight = on_floor(height=5.0), on_floor(height=8.0)
    assert five <= 0.5
    assert abs(eight * 8 - five * 5) <= 0.1 * 5  # in weights of 5 diameters


def test_j1_smooth_wall_carries_nothing():
    """All of the weight on the floor, 1 +- 0.02, where the wall has no friction.

    Without it the column swings up and down (3 Hz) for seconds.
    """
    assert on_floor(height=5.0, wall_friction=0.0, settle=3.5) == pytest.approx(1.0, abs=0.02)


def test_j1_capped_friction():
    """Bell's (18), which only creeps: at most 0.85 of the weight at 5 diameters (0.66)."""
    assert on_floor({"tangential": "capped"}, height=5.0) <= 0.85
