"""Digging resistance against closed forms, an equilibrium solved apart, and measured blades."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import berm
from berm.kernels.terrain.cutting import (
    CRESCENTS,
    PLANE,
    SHEARED,
    Strength,
    cut_table,
    penetration_table,
)

# Obermayr, Vrettos, Eberhard, Fraunhofer ITWM Report 228 (2013), vertical blade, mean draft, read
# from its plot to 35 N (0.2 m) and 60 N (0.3 m): width, depth (m), force (N).
BLADES = (
    (0.2, 0.10, 280.0), (0.2, 0.15, 505.0), (0.2, 0.20, 820.0), (0.2, 0.25, 1310.0),
    (0.3, 0.10, 610.0), (0.3, 0.15, 780.0), (0.3, 0.20, 1350.0), (0.3, 0.25, 2200.0),
)  # fmt: skip
SAND = {"density": 1440.0, "phi": 35.0, "delta": math.degrees(math.atan(0.29)), "c": 1e3}


def cut(
    depth: float = 1.0,
    width: float = 1.0,
    rake: float = 90.0,
    *,
    density: float = 1.0,
    phi: float = 35.0,
    delta: float = 0.0,
    c: float = 0.0,
    ca: float = 0.0,
    slope: float = 0.0,
    speed: float = 0.0,
    surcharge: float = 0.0,
    pile: tuple[float, float] = (0.0, 1.0),
    ends: int = PLANE,
    gravity: float = 1.0,
) -> tuple[float, float, float]:
    """Draft, lift (N) and the angle of the plane (degrees)."""
    soil = Strength(density, c, math.radians(phi), math.radians(delta), ca)
    row = [depth, width, math.radians(rake), math.radians(slope), speed, surcharge, *pile, ends, 2]
    out = np.zeros((1, 3))
    cut_table(soil, np.array([row], float), gravity, out)
    return float(out[0, 0]), float(out[0, 1]), math.degrees(out[0, 2])


@pytest.mark.parametrize(
    ("rake", "phi", "delta", "beta", "n_gamma"),
    [
        (30, 35, 23, 33.6, 1.769),
        (45, 35, 23, 31.1, 1.692),
        (60, 30, 20, 29.5, 1.555),
        (60, 35, 23, 26.5, 1.955),
        (60, 40, 27, 22.9, 2.613),
        (90, 35, 23, 14.7, 4.888),
    ],
)
def test_weight_factors_are_those_of_the_table(
    rake: float, phi: float, delta: float, beta: float, n_gamma: float
) -> None:
    draft, lift, plane = cut(rake=rake, phi=phi, delta=delta)
    assert plane == pytest.approx(beta, abs=0.06)
    assert math.hypot(draft, lift) == pytest.approx(n_gamma, abs=6e-4)
    lean = math.radians(rake + delta)
    assert lift / draft == pytest.approx(-math.cos(lean) / math.sin(lean), abs=1e-9)


@pytest.mark.parametrize("phi", [0.0, 15.0, 35.0, 50.0])
def test_a_smooth_wall_meets_rankines_passive_pressure(phi: float) -> None:
    k_p = math.tan(math.radians(45 + phi / 2)) ** 2
    draft, lift, beta = cut(phi=phi)
    assert draft == pytest.approx(k_p / 2, rel=1e-9)
    assert lift == pytest.approx(0.0, abs=1e-12)
    if phi > 0.0:  # else all planes resist alike
        assert beta == pytest.approx(45 - phi / 2, abs=1e-3)
    cohesive, _, _ = cut(phi=phi, c=1.0, density=1e-12)
    assert cohesive == pytest.approx(2.0 * math.sqrt(k_p), rel=1e-9)
    loaded, _, _ = cut(phi=phi, surcharge=1.0, density=1e-12)
    assert loaded == pytest.approx(k_p, rel=1e-9)


@pytest.mark.parametrize("slope", [-25.0, -10.0, 0.0, 10.0, 20.0])
@pytest.mark.parametrize("delta", [0.0, 10.0, 20.0])
def test_sloped_ground_meets_coulombs_passive_pressure(slope: float, delta: float) -> None:
    """Coulomb's closed form for an upright wall, as in any book on soil mechanics."""
    phi = 30.0
    p, d, i = (math.radians(x) for x in (phi, delta, slope))
    under = math.sin(p + d) * math.sin(p + i) / (math.cos(d) * math.cos(i))
    k_p = math.cos(p) ** 2 / (math.cos(d) * (1.0 - math.sqrt(under)) ** 2)
    draft, lift, _ = cut(math.cos(i), rake=90.0 + slope, phi=phi, delta=delta, slope=slope)
    assert math.hypot(draft, lift) == pytest.approx(k_p / 2, rel=1e-6)


def test_all_terms_agree_with_the_equilibrium_of_the_wedge() -> None:
    """Forces in the world's axes, solved for blade and plane at the angle that was found."""
    depth, width, rho, g = 0.3, 1.2, 1540.0, 9.81
    for rake, slope, speed in itertools.product((35.0, 60.0), (-10.0, 0.0, 15.0), (0.0, 1.5)):
        values = {"phi": 26.6, "delta": 18.0, "c": 6.1e3, "ca": 600.0, "surcharge": 2e3}
        draft, lift, plane = cut(
            depth, width, rake, density=rho, slope=slope, speed=speed, gravity=g, **values
        )
        a, b, p, d, i = (math.radians(x) for x in (rake, plane, 26.6, 18.0, slope))
        c, ca, q = 6.1e3, 600.0, 2e3
        top = depth / math.tan(a) + depth / math.tan(b)
        weight = (0.5 * rho * g * depth + q) * top
        rise = np.array([math.cos(b), math.sin(b)])  # along the plane, in the ground's axes
        face = np.array([-math.cos(a), math.sin(a)])
        known = -weight * np.array([math.sin(i), math.cos(i)])
        known -= c * depth / math.sin(b) * rise + ca * depth / math.sin(a) * face
        known -= rho * speed**2 * depth * math.sin(a) / math.sin(a + b) * rise  # what it takes on
        of_face = np.array([math.sin(a + d), math.cos(a + d)])
        of_plane = np.array([-math.sin(b + p), math.cos(b + p)])
        force, _ = np.linalg.solve(np.column_stack([of_face, of_plane]), -known)
        on_tool = -force * of_face + ca * depth / math.sin(a) * face
        assert draft == pytest.approx(-width * on_tool[0], rel=1e-9)
        assert lift == pytest.approx(width * on_tool[1], rel=1e-9)


def test_the_plane_is_the_one_that_resists_least() -> None:
    from berm.kernels.jit import in_python
    from berm.kernels.terrain.cutting import factors

    _, _, plane = cut(rake=60.0, phi=35.0, delta=23.0)
    at = [
        in_python(factors)(*(math.radians(x) for x in (60, plane + off, 35, 23, 0)))[0]
        for off in (-0.5, 0.0, 0.5)
    ]
    assert at[1] < min(at[0], at[2])


def test_a_pile_is_pushed_with_friction_or_rides_on_the_wedge() -> None:
    alone, _, _ = cut(1e-6, pile=(5.0, 2.0))  # no cut: a sled
    assert alone == pytest.approx(5.0 * math.tan(math.radians(35.0)), rel=1e-4)
    beta, phi = np.linspace(0.05, 0.9, 100_001), math.radians(35.0)
    on_it = (0.5 / np.tan(beta) + 5.0) * np.tan(beta + phi)  # all of it close to the blade
    assert cut(pile=(5.0, 1e-3))[0] == pytest.approx(on_it.min(), rel=1e-6)
    bare, some, more = (cut(pile=(x, 3.0))[0] for x in (0.0, 1.0, 4.0))
    assert bare < some < more
    k_p = math.tan(math.radians(62.5)) ** 2
    assert some - bare <= 1.0 * math.sqrt(k_p) * 1.01  # as if all of it were on the wedge


def test_ends_of_a_narrow_tool_resist_and_those_of_a_wide_one_do_not() -> None:
    plane, sheared, crescents = (cut(ends=e, c=0.5, delta=20.0)[0] for e in range(3))
    assert plane < sheared < crescents
    for ends in (SHEARED, CRESCENTS):
        wide = cut(width=1e4, ends=ends, c=0.5, delta=20.0)[0] / 1e4
        assert wide == pytest.approx(plane, rel=1e-3)


def test_crescents_of_a_smooth_upright_tine() -> None:
    """[MA77] where r = d cot(beta): terms (1 + 2 r / 3 w) and (1 + r / w), minimised by hand."""
    phi = math.radians(35.0)
    beta = np.linspace(0.05, 0.95, 200_001)
    reach, tan = 1.0 / np.tan(beta), np.tan(beta + phi)
    for width in (0.2, 1.0):
        force = width * (
            0.5 * reach * tan * (1.0 + 2.0 * reach / (3.0 * width))
            + 0.3 * (tan + reach) * (1.0 + reach / width)
        )
        assert cut(width=width, c=0.3, ends=CRESCENTS)[0] == pytest.approx(force.min(), rel=1e-6)


def test_measured_blades() -> None:
    """Cases B12: 0.6 to 2.2 of what was measured; with sheared ends 0.7 to 1.25."""
    ratio = {
        ends: [
            cut(d, w, ends=ends, gravity=9.81, **SAND)[0] / force  # type: ignore[arg-type]
            for w, d, force in BLADES
        ]
        for ends in (PLANE, SHEARED, CRESCENTS)
    }
    assert 0.57 < min(ratio[PLANE]) < max(ratio[PLANE]) < 0.86
    assert 0.70 < min(ratio[SHEARED]) < max(ratio[SHEARED]) < 1.25
    assert max(ratio[CRESCENTS]) > 2.2  # too much for these blades: docs/theory/soil.md
    depths = np.log([d for _, d, _ in BLADES[:4]])
    forces = [cut(d, w, ends=SHEARED, gravity=9.81, **SAND)[0] for w, d, _ in BLADES[:4]]  # type: ignore[arg-type]
    assert 1.4 < np.polyfit(depths, np.log(forces), 1)[0] < 2.2


def test_steep_faces_and_flat_ones_stay_finite() -> None:
    upright = cut(delta=20.0)
    assert cut(rake=140.0, delta=20.0) == upright
    values = np.array([
        cut(0.3, 1.0, rake, phi=phi, delta=0.6 * phi, slope=slope, c=1.0, pile=(2.0, 1.0))
        for rake in (0.0, 5.0, 45.0, 90.0, 179.0)
        for phi in (0.0, 30.0, 60.0)
        for slope in (-60.0, 0.0, 60.0)
    ])  # fmt: skip
    assert np.isfinite(values).all()
    assert (values[:, 0] >= 0.0).all()
    assert cut(0.0) == (0.0, 0.0, 0.0)


def press(phi: float, c: float, depth: float, thickness: float = 0.02) -> float:
    soil = Strength(1600.0, c, math.radians(phi), math.radians(20.0), 0.0)
    out = np.zeros(1)
    penetration_table(soil, np.array([[thickness, 1.0, depth]]), 9.81, out)
    return float(out[0])


def test_an_edge_is_pressed_in_against_bearing_capacity() -> None:
    assert press(0.0, 1e3, 1e-9) == pytest.approx(0.02 * (math.pi + 2.0) * 1e3, rel=1e-6)
    n_q, n_gamma = 18.40, 22.40  # Vesic's table, 30 degrees
    at_top = press(30.0, 0.0, 1e-9)
    assert at_top == pytest.approx(0.02 * 0.5 * 1600 * 9.81 * 0.02 * n_gamma, rel=1e-3)
    deep = press(30.0, 0.0, 0.3)
    rub = 2 * 0.3 * 0.5 * 1600 * 9.81 * 0.15 * math.tan(math.radians(20.0))
    assert deep - at_top - rub == pytest.approx(0.02 * 1600 * 9.81 * 0.3 * n_q, rel=1e-3)
    assert press(30.0, 1e3, 0.0) == 0.0


def test_in_plain_words() -> None:
    found = berm.digging_force(berm.soil("loam"), 0.3, 1.2, 60.0)
    firm = berm.digging_force(berm.soil("loam", cohesion=9.1e3), 0.3, 1.2, 60.0)
    grown = (firm.draft - found.draft) / 3e3 / (0.3 * 1.2)  # dF/dc = w d N_c: cases B13
    assert grown == pytest.approx(2.41, rel=0.5)
    assert found.lift < 0.0 < found.press
    assert 20.0 < found.plane < 45.0
    rolls = berm.wheel_on_soil(berm.soil("dry sand"), 0.8, 0.6, 20e3, slip=0.2)
    assert rolls.pull < rolls.torque / 0.8
    with pytest.raises(berm.InputError, match="depth"):
        berm.digging_force(berm.soil("loam"), -0.3, 1.2)
    with pytest.raises(berm.InputError, match="slip"):
        berm.wheel_on_soil(berm.soil("loam"), 0.8, 0.6, 20e3, slip=1.0)
