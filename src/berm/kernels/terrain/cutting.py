"""Digging resistance: the fundamental earthmoving equation, ends of tools, edges that press in.

[Reece64] A. R. Reece, The fundamental equation of earth-moving mechanics, 1964. [McKyes85]
E. McKyes, Soil Cutting and Tillage, 1985. [MA77] E. McKyes, O. S. Ali, J. Terramechanics 14, 1977.
[PGD83] J. V. Perumpral, R. D. Grisso, C. S. Desai, Trans. ASAE 26, 1983. [Vesic73] A. S. Vesic,
J. Soil Mech. Found. Div. 99, 1973.

A wedge of soil slides up between the tool's face and a plane through its edge. Angles (rad) are
taken from the ground ahead: rake, between the face and the ground behind the edge; beta, of the
plane. Ground that rises ahead by `slope` turns all of it, and gravity alone stays: weight counts by
sin(beta + phi + slope) instead of sin(beta + phi) [derived; docs/theory/soil.md].
"""

from __future__ import annotations

import math
from typing import NamedTuple

from berm.kernels.jit import bare, jit

PLANE, SHEARED, CRESCENTS = range(3)  # what is at both ends of the edge

LEAST_RAKE = math.radians(10.0)
LEAST_BETA = math.radians(2.0)
ROOM = math.radians(10.0)  # for planes to fail in, whatever the rake
PLANES = 12  # looked at, before the best of them is refined
GOLDEN, REFINED = 0.5 * (math.sqrt(5.0) - 1.0), 20
TINY = 1e-12


class Strength(NamedTuple):
    """What soil resists with (SI, rad)."""

    density: float
    cohesion: float
    friction: float
    tool_friction: float
    adhesion: float


class Cut(NamedTuple):
    """How a tool stands in the ground (SI, rad).

    depth is square to the ground; surcharge (Pa) lies on it all over; pile (N/m) is the weight of
    what is pushed, a triangle of `pile_length` (m) that is highest at the tool. ends: how those of
    the edge that stand in soil resist, and `open_ends`, how many they are, 0 to 2.
    """

    depth: float
    width: float
    rake: float
    slope: float
    speed: float
    surcharge: float
    pile: float
    pile_length: float
    ends: int
    open_ends: float


@bare
def factors(rake, beta, phi, delta, slope):
    """N_gamma, N_c, N_ca, N_q, N_a [McKyes85] ch. 2 of a plane at beta; all 0 where none can fail.

    Printed with D = sin(rake + beta + phi + delta) / sin(beta + phi), which is multiplied out here.
    """
    turned = rake + beta + phi + delta
    fail = math.sin(turned)
    if turned >= math.pi or fail <= TINY:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    n_q = (1.0 / math.tan(rake) + 1.0 / math.tan(beta)) * math.sin(beta + phi + slope) / fail
    n_c = math.cos(phi) / (math.sin(beta) * fail)
    n_ca = -math.cos(rake + beta + phi) / (math.sin(rake) * fail)
    n_a = math.cos(phi) * math.sin(rake) / (math.sin(rake + beta) * fail)
    return 0.5 * n_q, n_c, n_ca, n_q, n_a


@bare
def held_pile(cut, reach):
    """Weight (N/m) of the pile that lies on the wedge, whose top reaches so far from the tool."""
    if cut.pile <= 0.0:
        return 0.0
    if reach >= cut.pile_length:
        return cut.pile
    rest = 1.0 - reach / cut.pile_length
    return cut.pile * (1.0 - rest * rest)


@bare
def wedge(soil, cut, gravity, rake, beta):
    """Force P (N) on the tool's face that makes the plane at beta fail, and the pile's push (N).

    P leans by the tool's friction from the face's normal; adhesion along the face is not in it. The
    push is along the ground, of what lies ahead of the wedge and slides.
    """
    d, w, phi = cut.depth, cut.width, soil.friction
    n_gamma, n_c, n_ca, n_q, n_a = factors(rake, beta, phi, soil.tool_friction, cut.slope)
    if n_c == 0.0:
        return math.inf, 0.0
    reach = d * (1.0 / math.tan(rake) + 1.0 / math.tan(beta))
    held = held_pile(cut, reach)
    over = cut.surcharge + held / reach
    weight, cohesion = soil.density * gravity * d * d * n_gamma, soil.cohesion * d * n_c
    surcharge = over * d * n_q
    ends = 0.0
    if cut.ends == CRESCENTS:  # [MA77]: slices of a cone about both ends of the edge
        side = math.cos(rake) / math.sin(rake) * d / reach
        spread = 0.5 * cut.open_ends * reach / w * math.sqrt(max(1.0 - side * side, 0.0))
        weight *= 1.0 + 2.0 / 3.0 * spread
        cohesion *= 1.0 + spread
        surcharge *= 1.0 + spread
    elif cut.ends == SHEARED:  # [PGD83]: the ends of the wedge slide along the soil beside it
        pressure = soil.density * gravity * d / 3.0 * math.cos(cut.slope) + over
        shear = soil.cohesion + (1.0 - math.sin(phi)) * pressure * math.tan(phi)
        shear *= 0.5 * cut.open_ends * d * reach * math.cos(phi)
        ends = shear / math.sin(rake + beta + phi + soil.tool_friction)
    force = weight + cohesion + surcharge
    force += soil.adhesion * d * n_ca + soil.density * cut.speed * cut.speed * d * n_a
    push = (cut.pile - held) * (math.cos(cut.slope) * math.tan(phi) + math.sin(cut.slope))
    return w * force + ends, w * max(push, 0.0)


@bare
def draft_at(soil, cut, gravity, rake, beta):
    """What holds the tool back along the ground (N), and lifts it off the ground (N)."""
    force, push = wedge(soil, cut, gravity, rake, beta)
    stuck, lean = soil.adhesion * cut.depth * cut.width, rake + soil.tool_friction
    back = force * math.sin(lean) + stuck / math.tan(rake) + push
    return back, stuck - force * math.cos(lean)


@bare
def settled_rake(soil, cut):
    """The rake that counts: upright at most, as a face that hangs over carries soil under it."""
    free = math.pi - soil.friction - soil.tool_friction
    return max(min(cut.rake, 0.5 * math.pi + cut.slope, free - ROOM), LEAST_RAKE)


@bare
def draft_without_pile(soil, cut, gravity, beta):
    """What draft and lift of a plane at beta would be without what is pushed (N)."""
    c = cut
    alone = Cut(c.depth, c.width, c.rake, c.slope, c.speed, c.surcharge, 0.0, 1.0, c.ends,
                c.open_ends)  # fmt: skip
    back, lift = draft_at(soil, alone, gravity, settled_rake(soil, cut), beta)
    return max(back, 0.0), lift


@bare
def resistance(soil, cut, gravity):
    """Draft (N, along the ground, against the tool), lift (N, off the ground), beta (rad).

    The plane is the one that resists least. A face that hangs over carries soil under it, whose
    front is upright through the edge; one that lies flatter than LEAST_RAKE cuts as if at it.
    """
    if cut.depth <= 0.0 or cut.width <= 0.0:
        return 0.0, 0.0, 0.0
    rake = settled_rake(soil, cut)
    most = min(0.5 * math.pi, math.pi - soil.friction - soil.tool_friction - rake)
    step = (most - LEAST_BETA) / PLANES
    best, at = math.inf, LEAST_BETA
    for k in range(PLANES):
        beta = LEAST_BETA + (k + 0.5) * step
        back, _ = draft_at(soil, cut, gravity, rake, beta)
        if back < best:
            best, at = back, beta
    low, high = max(at - step, 0.5 * LEAST_BETA), at + step
    one, two = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    of_one, _ = draft_at(soil, cut, gravity, rake, one)
    of_two, _ = draft_at(soil, cut, gravity, rake, two)
    for _ in range(REFINED):
        if of_one < of_two:
            high, two, of_two = two, one, of_one
            one = high - GOLDEN * (high - low)
            of_one, _ = draft_at(soil, cut, gravity, rake, one)
        else:
            low, one, of_one = one, two, of_two
            two = low + GOLDEN * (high - low)
            of_two, _ = draft_at(soil, cut, gravity, rake, two)
    beta = 0.5 * (low + high)
    back, lift = draft_at(soil, cut, gravity, rake, beta)
    return max(back, 0.0), lift, beta


@bare
def bearing_pressure(soil, width, depth, gravity):
    """Pressure (Pa) under a long strip that is pressed into level ground, [Vesic73].

    q = c N_c + gamma d N_q + gamma b N_gamma / 2: N_q and N_c of Prandtl and Reissner, N_gamma
    = 2 (N_q + 1) tan(phi).
    """
    tan = math.tan(soil.friction)
    n_q = math.exp(math.pi * tan) * math.tan(0.25 * math.pi + 0.5 * soil.friction) ** 2
    n_c = (n_q - 1.0) / tan if tan > 1e-6 else math.pi + 2.0
    gamma = soil.density * gravity
    return soil.cohesion * n_c + gamma * depth * n_q + gamma * width * (n_q + 1.0) * tan


@bare
def penetration(soil, thickness, length, depth, gravity):
    """Force (N) that presses an edge `thickness` thick and `length` wide in along its own plane.

    The strip under the edge [Vesic73] and what both faces rub at, with earth pressure at rest.
    """
    if depth <= 0.0:
        return 0.0
    side = (1.0 - math.sin(soil.friction)) * soil.density * gravity * 0.5 * depth
    rub = soil.adhesion + side * math.tan(soil.tool_friction)
    end = thickness * bearing_pressure(soil, thickness, depth, gravity)
    return length * (end + 2.0 * depth * rub)


@jit
def cut_table(soil, cuts, gravity, out):
    """Fill out (k, 3) with `resistance` of each row of cuts (k, 10): draft, lift, beta."""
    for k in range(cuts.shape[0]):
        c = cuts[k]
        cut = Cut(c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], int(c[8]), c[9])
        out[k, 0], out[k, 1], out[k, 2] = resistance(soil, cut, gravity)


@jit
def penetration_table(soil, edges, gravity, out):
    """Fill out (k,) with `penetration` of rows of edges (k, 3): thickness, length, depth."""
    for k in range(edges.shape[0]):
        out[k] = penetration(soil, edges[k, 0], edges[k, 1], edges[k, 2], gravity)
