"""Wheels and tracks on soil: how far they sink, what they pull, what rolling costs.

[Bekker69] M. G. Bekker, Introduction to Terrain-Vehicle Systems, 1969. [JH61] Z. Janosi,
B. Hanamoto, 1st Int. Conf. Mechanics of Soil-Vehicle Systems, 1961. [WR67] J. Y. Wong, A. R. Reece,
J. Terramechanics 4, 1967. [Wong08] J. Y. Wong, Theory of Ground Vehicles, 4th ed., ch. 2.

Angles (rad) are taken from below the axle, forwards: soil is met at theta_f and left at theta_r.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from berm.kernels.jit import bare, jit

HIGHEST, HIGHEST_MORE = 0.4, 0.15  # theta_m / theta_f without slip, and more of it with slip
LEAVES = -0.12  # theta_r / theta_f
DEEPEST = math.radians(80.0)  # of theta_f
SLOWEST = 0.02  # rim over ground: a wheel that is locked slides as if it turned so slowly
SEARCHED = 40
TINY = 1e-12  # m/s
_nodes, _weights = np.polynomial.legendre.leggauss(8)
NODES = tuple(float(x) for x in 0.5 * (_nodes + 1.0))
WEIGHTS = tuple(float(x) for x in 0.5 * _weights)


class Ground(NamedTuple):
    """What soil bears (SI, rad): Bekker's moduli and exponent, strength, Janosi's K."""

    k_c: float
    k_phi: float
    n: float
    cohesion: float
    friction: float
    shear: float


@bare
def plate_pressure(soil, width, sinkage):
    """Pressure (Pa) that presses a plate this deep in: p = (k_c / b + k_phi) z^n [Bekker69]."""
    if sinkage <= 0.0:
        return 0.0
    return (soil.k_c / width + soil.k_phi) * sinkage**soil.n


@bare
def sheared(soil, pressure, way):
    """Shear stress (Pa) after a way (m): (c + sigma tan(phi)) (1 - exp(-j / K)) [JH61]."""
    most = soil.cohesion + pressure * math.tan(soil.friction)
    return most * -math.expm1(-way / soil.shear)


@bare
def rim(soil, radius, width, theta_f, theta_m, theta_r, theta):
    """Normal stress (Pa) at theta: under a plate ahead of theta_m, its mirror behind [WR67]."""
    if theta < theta_m:
        theta = theta_f - (theta - theta_r) / (theta_m - theta_r) * (theta_f - theta_m)
    return plate_pressure(soil, width, radius * (math.cos(theta) - math.cos(theta_f)))


@bare
def rim_forces(soil, radius, width, theta_f, theta_m, theta_r, over, drift, rolled):
    """Load, pull, side force (N), torque (N m) of the stresses from theta_r to theta_f.

    While the rim turns by one radian, forwards if `rolled` is 1, the wheel goes `over` metres ahead
    and `drift` aside. Shear follows the way that a point of the rim has slid since theta_f.
    """
    load, pull, side, torque = 0.0, 0.0, 0.0, 0.0
    for part in range(2):
        start = theta_f if part == 0 else theta_r
        span = theta_m - start
        for k in range(len(NODES)):  # squared: stress rises steeply where soil is met or left
            theta = start + span * NODES[k] * NODES[k]
            size = abs(span) * 2.0 * NODES[k] * WEIGHTS[k] * radius * width
            sigma = rim(soil, radius, width, theta_f, theta_m, theta_r, theta)
            along = rolled * radius * (theta_f - theta)
            along -= over * (math.sin(theta_f) - math.sin(theta))
            across = drift * (theta_f - theta)
            way = math.hypot(along, across)
            tau = sheared(soil, sigma, way) / way if way > 0.0 else 0.0
            load += size * (sigma * math.cos(theta) + tau * along * math.sin(theta))
            pull += size * (tau * along * math.cos(theta) - sigma * math.sin(theta))
            side -= size * tau * across
            torque += size * tau * along * radius
    return load, pull, side, torque


@bare
def rolling(soil, radius, width, theta_f, speed, aside, turning):
    """Load, pull, side force (N) and torque (N m) of a rigid wheel that meets soil at theta_f.

    speed forwards, from 0 up, and aside (m/s); turning (rad/s) forwards. Pull and side force act on
    the wheel, load carries it, torque is what turns it against the soil.
    """
    if theta_f <= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    pace = max(abs(turning), SLOWEST * math.hypot(speed, aside) / radius)
    if pace == 0.0:
        over, drift, rolled, slip = radius, 0.0, 1.0, 0.0
    else:
        over, drift, rolled = speed / pace, aside / pace, turning / pace
        slip = abs(turning * radius - speed) / max(abs(turning) * radius, speed, TINY)
    theta_m = (HIGHEST + HIGHEST_MORE * min(slip, 1.0)) * theta_f
    return rim_forces(
        soil, radius, width, theta_f, theta_m, LEAVES * theta_f, over, drift, rolled
    )


@bare
def entry_angle(soil, radius, width, load, speed, turning):
    """theta_f at which a wheel carries its load (N); DEEPEST where it would sink further.

    Regula falsi (Illinois): load rises with theta_f.
    """
    low, high = 0.0, DEEPEST
    below = -load
    above = rolling(soil, radius, width, high, speed, 0.0, turning)[0] - load
    if above <= 0.0 or load <= 0.0:
        return high if load > 0.0 else 0.0
    theta, kept = high, 0
    for _ in range(SEARCHED):
        theta = (low * above - high * below) / (above - below)
        at = rolling(soil, radius, width, theta, speed, 0.0, turning)[0] - load
        if abs(at) <= 1e-9 * load:
            break
        if at > 0.0:
            high, above = theta, at
            if kept == 1:
                below *= 0.5
            kept = 1
        else:
            low, below = theta, at
            if kept == -1:
                above *= 0.5
            kept = -1
    return theta


@bare
def compaction_resistance(soil, width, sinkage):
    """Force (N) that presses a rut: b (k_c / b + k_phi) z^(n + 1) / (n + 1) [Bekker69]."""
    return width * plate_pressure(soil, width, sinkage) * sinkage / (soil.n + 1.0)


@bare
def mean_shear(way, shear):
    """Share of the full shear under a foot that has slid so far (m) at its end, K being `shear`.

    1 - K / j (1 - exp(-j / K)), [Wong08] (2.65) for pressure that is the same all along.
    """
    j = way / shear
    return 1.0 + math.expm1(-j) / j if j > 1e-6 else 0.5 * j


@jit
def wheel_table(soil, wheels, out):
    """Fill out (k, 4) for rows of wheels (k, 5): radius, width, load, speed, turning.

    Gives sinkage (m), load, pull (N) and torque (N m).
    """
    for k in range(wheels.shape[0]):
        radius, width, load, speed, turning = wheels[k]
        theta = entry_angle(soil, radius, width, load, speed, turning)
        bears, pull, _, torque = rolling(soil, radius, width, theta, speed, 0.0, turning)
        out[k, 0] = radius * (1.0 - math.cos(theta))
        out[k, 1], out[k, 2], out[k, 3] = bears, pull, torque
