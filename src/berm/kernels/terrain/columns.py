"""Columns of soil: what a column loses from its top, what is heaped on it, what slides.

mass (L + K, nx, ny) in kg: L layers of ground as it lies, from the bottom up, then the loose soil
on top, one plane for each of K soils. volume (L + 1, nx, ny) in m^3: of the layers, and of all
loose soil. rock, height (nx, ny) in m: where digging ends, and the surface; of (L,) soil of each
layer; area (m^2) of a column. Masses are whole multiples of QUANTUM, so that sums of them are exact
below 2^53 QUANTUM = 8.6e9 kg: what leaves one place arrives at another to the last bit.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.jit import bare, jit

QUANTUM = 2.0**-20  # kg


@bare
def whole(m):
    """Round a mass (kg) to whole quanta."""
    return np.floor(m / QUANTUM + 0.5) * QUANTUM


@bare
def settle_height(volume, rock, height, area, i, j):
    """Write the surface of a column as its volumes have it."""
    total = 0.0
    for layer in range(volume.shape[0]):
        total += volume[layer, i, j]
    height[i, j] = rock[i, j] + total / area


@bare
def take(mass, volume, rock, height, of, area, i, j, drop, taken):
    """Take the top `drop` (m) of a column, loose soil first; add its masses to taken (K,)."""
    layers = of.shape[0]
    left = drop * area
    for step in range(layers + 1):
        if left <= 0.0:
            break
        layer = layers - step
        v = volume[layer, i, j]
        if v <= 0.0:
            continue
        share = min(left / v, 1.0)
        if layer == layers:
            for k in range(taken.shape[0]):
                m = mass[layers + k, i, j]
                if share < 1.0:
                    m = whole(share * m)
                mass[layers + k, i, j] -= m
                taken[k] += m
        else:
            m = mass[layer, i, j]
            if share < 1.0:
                m = whole(share * m)
            mass[layer, i, j] -= m
            taken[of[layer]] += m
        volume[layer, i, j] = v - left if share < 1.0 else 0.0
        left -= v * share
    settle_height(volume, rock, height, area, i, j)


@jit
def lower(mass, volume, rock, height, of, area, i0, j0, wanted, taken):
    """Lower the columns from (i0, j0) on to `wanted` (m), where that is below them."""
    for a in range(wanted.shape[0]):
        for b in range(wanted.shape[1]):
            drop = height[i0 + a, j0 + b] - wanted[a, b]
            if drop > 0.0:
                take(mass, volume, rock, height, of, area, i0 + a, j0 + b, drop, taken)


@jit
def refill(mass, volume, rock, height, kept, kept_volume, of, area, i0, j0, level, where, back):
    """Put back what columns lost, layer by layer, up to `level` (m); add masses to back (K,).

    kept, kept_volume: what they lost, shaped as mass and volume; what is left in them stays.
    """
    layers = of.shape[0]
    for a in range(level.shape[0]):
        for b in range(level.shape[1]):
            if not where[a, b]:
                continue
            i, j = i0 + a, j0 + b
            left = (level[a, b] - height[i, j]) * area
            for layer in range(layers + 1):
                v = kept_volume[layer, i, j]
                if left <= 0.0 or v <= 0.0:
                    continue
                share = min(left / v, 1.0)
                first = layer
                last = layer + 1 if layer < layers else mass.shape[0]
                for row in range(first, last):
                    m = kept[row, i, j]
                    if share < 1.0:
                        m = whole(share * m)
                    kept[row, i, j] -= m
                    mass[row, i, j] += m
                    back[of[layer] if layer < layers else row - layers] += m
                kept_volume[layer, i, j] = v - left if share < 1.0 else 0.0
                volume[layer, i, j] += v * share
                left -= v * share
            settle_height(volume, rock, height, area, i, j)


@jit
def heap(mass, volume, rock, height, layers, area, i0, j0, masses, volumes):
    """Put loose soil on columns from (i0, j0) on: masses (K, n, m) kg, and volumes (n, m) m^3."""
    for a in range(volumes.shape[0]):
        for b in range(volumes.shape[1]):
            if volumes[a, b] <= 0.0:
                continue
            i, j = i0 + a, j0 + b
            for k in range(masses.shape[0]):
                mass[layers + k, i, j] += masses[k, a, b]
            volume[layers, i, j] += volumes[a, b]
            settle_height(volume, rock, height, area, i, j)


@bare
def soil_at(mass, volume, rock, of, area, i, j, z):
    """Soil that a column has at height z (m), by number; of loose soil the one of most mass."""
    layers = of.shape[0]
    level = rock[i, j]
    for layer in range(layers):
        level += volume[layer, i, j] / area
        if z < level and volume[layer, i, j] > 0.0:
            return of[layer]
    best, most = -1, 0.0
    for k in range(mass.shape[0] - layers):
        if mass[layers + k, i, j] > most:
            best, most = k, mass[layers + k, i, j]
    if best >= 0:
        return best
    for step in range(layers):
        layer = layers - 1 - step
        if volume[layer, i, j] > 0.0:
            return of[layer]
    return of[layers - 1]


@jit
def soils_at(mass, volume, rock, of, area, i, j, z, found):
    """Fill found (k,) with `soil_at` for columns i, j (k,) and heights z (k,) m."""
    for s in range(found.shape[0]):
        found[s] = soil_at(mass, volume, rock, of, area, i[s], j[s], z[s])


# ---- slides -----------------------------------------------------------------------------------

WALK = 60  # columns: no slope is followed farther
STILL = 1e-4  # m of excess height that stays


@bare
def critical_height(c, phi, gamma, beta):
    """Height (m) at which a cut at angle beta fails: Culmann's plane wedge.

    c (Pa), phi (rad), gamma (N/m^3). H = 4 c / gamma sin(beta) cos(phi) / (1 - cos(beta - phi)),
    K. Terzaghi, Theoretical Soil Mechanics, 1943, Art. 55; 4 c / gamma tan(45 + phi / 2) upright.
    """
    if beta <= phi:
        return np.inf
    return 4.0 * c / gamma * math.sin(beta) * math.cos(phi) / (1.0 - math.cos(beta - phi))


@bare
def wall(height, i, j, di, dj, far, steepness):
    """Height and length (m) of the slope that goes down from (i, j) in direction (di, dj).

    It is followed both ways while it is steeper than `steepness` (m a step of `far`).
    """
    nx, ny = height.shape
    top, low, steps = height[i, j], height[i + di, j + dj], 1
    p, q = i + di, j + dj
    for _ in range(WALK):
        a, b = p + di, q + dj
        if a < 0 or b < 0 or a >= nx or b >= ny or height[p, q] - height[a, b] <= steepness:
            break
        p, q, low, steps = a, b, height[a, b], steps + 1
    p, q = i, j
    for _ in range(WALK):
        a, b = p - di, q - dj
        if a < 0 or b < 0 or a >= nx or b >= ny or height[a, b] - height[p, q] <= steepness:
            break
        p, q, top, steps = a, b, height[a, b], steps + 1
    return top - low, steps * far


@bare
def slide_pair(
    mass, volume, rock, height, covered, of, soils, area, gravity, i, j, di, dj, far, rate, taken
):
    """Let what is too steep slide from the higher of two columns to the lower; return m^3 moved.

    soils (K, 5): tangent of the angle of repose, bulk density when loose (kg/m^3), cohesion (Pa),
    friction angle (rad) and bulk density (kg/m^3) of the ground.
    """
    p, q = i + di, j + dj
    if covered[i, j] or covered[p, q]:
        return 0.0
    a, b, d = i, j, height[i, j] - height[p, q]
    if d < 0.0:
        a, b, p, q, d, di, dj = p, q, i, j, -d, -di, -dj
    layers, kinds = of.shape[0], taken.shape[0]
    loose = volume[layers, a, b]
    tangent = np.inf
    for k in range(kinds):
        if mass[layers + k, a, b] > 0.0:
            tangent = min(tangent, soils[k, 0])
    if tangent == np.inf:  # room without mass, of rounding, would hold the ground below it
        volume[layers, a, b] = loose = 0.0
    moved = 0.0
    if loose > 0.0 and d - far * tangent > STILL:
        t = min(0.5 * rate * (d - far * tangent), loose / area)
        share = min(t * area / loose, 1.0)
        for k in range(kinds):
            m = mass[layers + k, a, b]
            if share < 1.0:
                m = whole(share * m)
            mass[layers + k, a, b] -= m
            mass[layers + k, p, q] += m
        gone = loose * share
        volume[layers, a, b] = loose - gone if share < 1.0 else 0.0
        volume[layers, p, q] += gone
        moved += gone
        d -= 2.0 * gone / area
    if volume[layers, a, b] <= 0.0:  # the ground itself, where a wall is too high for it
        top = -1
        for layer in range(layers):
            if volume[layer, a, b] > 0.0:
                top = layer
        if top >= 0:
            k = of[top]
            limit = far * soils[k, 0]
            if d - limit > STILL:
                fails = True
                if soils[k, 2] > 0.0:
                    high, long = wall(height, a, b, di, dj, far, limit)
                    stands = critical_height(
                        soils[k, 2], soils[k, 3], soils[k, 4] * gravity, math.atan2(high, long)
                    )
                    fails = high > stands
                if fails:
                    for k in range(kinds):
                        taken[k] = 0.0
                    before = volume[top, a, b]
                    drop = min(0.5 * rate * (d - limit), before / area)
                    take(mass, volume, rock, height, of, area, a, b, drop, taken)
                    for k in range(kinds):
                        if taken[k] > 0.0:
                            mass[layers + k, p, q] += taken[k]
                            volume[layers, p, q] += taken[k] / soils[k, 1]
                    moved += before - volume[top, a, b]
    if moved > 0.0:
        settle_height(volume, rock, height, area, a, b)
        settle_height(volume, rock, height, area, p, q)
    return moved


@jit
def slide(
    mass, volume, rock, height, covered, of, soils, area, cell, gravity, rate, nodes, count, marked,
    fresh, window,
):  # fmt: skip
    """Let slopes around nodes[:count] slide once in all eight directions.

    nodes hold numbers i ny + j; marked (nx, ny) is scratch, false before and after. fresh, with
    room for 25 nodes each, is filled with those that changed, and window (4,) widened to hold them;
    returns how many they are, and m^3 moved. Pairs go red and black, so that no direction is
    favoured by the order.
    """
    nx, ny = height.shape
    taken = np.zeros(mass.shape[0] - of.shape[0])
    near = np.empty(9 * count, np.int64)
    size = 0
    for s in range(count):
        i, j = nodes[s] // ny, nodes[s] % ny
        for a in range(max(i - 1, 0), min(i + 2, nx)):
            for b in range(max(j - 1, 0), min(j + 2, ny)):
                if not marked[a, b]:
                    marked[a, b] = True
                    near[size] = a * ny + b
                    size += 1
    for s in range(size):
        marked[near[s] // ny, near[s] % ny] = False
    near = np.sort(near[:size])
    total, found = 0.0, 0
    flattest = soils[:, 0].min()
    for way in range(4):
        di = 0 if way == 1 else 1
        dj = 0 if way == 0 else (-1 if way == 3 else 1)
        far = cell if way < 2 else cell * math.sqrt(2.0)
        for colour in range(2):
            for s in range(size):
                i, j = near[s] // ny, near[s] % ny
                if (i if di == 1 else j) % 2 != colour:
                    continue
                if i + di >= nx or j + dj >= ny or j + dj < 0:
                    continue
                if abs(height[i, j] - height[i + di, j + dj]) - far * flattest <= STILL:
                    continue
                moved = slide_pair(
                    mass, volume, rock, height, covered, of, soils, area, gravity, i, j, di, dj,
                    far, rate, taken,
                )
                if moved > 0.0:
                    total += moved
                    for end in range(2):
                        a, b = i + end * di, j + end * dj
                        if not marked[a, b]:
                            marked[a, b] = True
                            fresh[found] = a * ny + b
                            found += 1
                            window[0], window[1] = min(window[0], a), max(window[1], a + 1)
                            window[2], window[3] = min(window[2], b), max(window[3], b + 1)
    for s in range(found):
        marked[fresh[s] // ny, fresh[s] % ny] = False
    return found, total


@jit
def slides(
    mass, volume, rock, height, covered, of, soils, area, cell, gravity, rate, nodes, passes,
    marked, window,
):  # fmt: skip
    """Let slopes around nodes slide `passes` times; return the nodes that may slide on, sorted.

    Those that are covered wait. window (4,) is widened to what changed.
    """
    ny = height.shape[1]
    waiting = np.empty(0, np.int64)
    for _ in range(passes):
        hidden = np.empty(nodes.shape[0], np.bool_)
        for s in range(nodes.shape[0]):
            hidden[s] = covered[nodes[s] // ny, nodes[s] % ny]
        waiting = np.concatenate((waiting, nodes[hidden]))
        nodes = nodes[~hidden]
        fresh = np.empty(25 * nodes.shape[0], np.int64)
        count, _ = slide(
            mass, volume, rock, height, covered, of, soils, area, cell, gravity, rate, nodes,
            nodes.shape[0], marked, fresh, window,
        )  # fmt: skip
        nodes = np.sort(fresh[:count])
        if count == 0:
            break
    return np.unique(np.concatenate((nodes, waiting)))
