"""Complementarity problems in matrix form: Siconos' test problems (CASES A25, A26)."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from berm.core.errors import InputError
from berm.solvers.vts.mlcp import Problem, on_cone, solve

DATA = Path(__file__).parent.parent / "data" / "siconos"


def read_lcp(name):
    t = (DATA / name).read_text().split("#")[0].split()
    n = int(t[0])
    m = np.array(t[6 : 6 + n * n], float).reshape(n, n)
    return m, np.array(t[6 + n * n : 6 + n * n + n], float)


def read_fc3d(name):
    t = (DATA / name).read_text().split()
    nc, kind, p = int(t[1]), int(t[2]), 3
    n = 3 * nc
    if kind == 0:
        r, c = int(t[p + 2]), int(t[p + 3])
        p += 4
        w = np.array(t[p : p + r * c], float).reshape(r, c)
        p += r * c
    else:
        p += 2
        nr, ncb = int(t[p + 1]), int(t[p + 2])
        p += 3
        rows = np.r_[0, np.array(t[p : p + nr], int)]
        p += nr
        cols = np.r_[0, np.array(t[p : p + ncb], int)]
        p += ncb
        f1, f2 = int(t[p]), int(t[p + 1])
        p += 2
        i1 = np.array(t[p : p + f1], int)
        p += f1
        i2 = np.array(t[p : p + f2], int)
        p += f2
        w = np.zeros((n, n))
        for b in range(f1 - 1):
            for k in range(i1[b], i1[b + 1]):
                c = i2[k]
                r, s = rows[b + 1] - rows[b], cols[c + 1] - cols[c]
                p += 1
                block = np.array(t[p : p + r * s], float).reshape(r, s).T
                w[rows[b] : rows[b + 1], cols[c] : cols[c + 1]] = block
                p += r * s
    q = np.array(t[p : p + n], float)
    return w, q, np.array(t[p + n : p + n + nc], float)


def by_enumeration(m, q):
    """All complementary solutions of a small LCP."""
    found = []
    n = len(q)
    for size in range(n + 1):
        for basis in itertools.combinations(range(n), size):
            s, z = list(basis), np.zeros(n)
            if s:
                try:
                    z[s] = np.linalg.solve(m[np.ix_(s, s)], -q[s])
                except np.linalg.LinAlgError:
                    continue
            if z.min(initial=0) >= -1e-9 and (m @ z + q).min() >= -1e-9:
                found.append(z)
    return found


SMALL = ("lcp_deudeu.dat", "lcp_ortiz.dat", "lcp_exp_murty.dat", "lcp_exp_murty2.dat")


@pytest.mark.parametrize("kind", ["gs", "jacobi", "ij", "cr"])
@pytest.mark.parametrize("name", SMALL)
def test_a25_small_lcp_exactly(name, kind):
    m, q = read_lcp(name)
    result = solve(Problem(m, q), kind, most=20_000, tolerance=1e-10)
    assert result.residuals[-1] <= 1e-8
    assert min(np.abs(result.z - z).max() for z in by_enumeration(m, q)) < 1e-7


@pytest.mark.parametrize("kind", ["gs", "jacobi", "ij", "mr", "cr"])
def test_a25_mmc(kind):
    assert solve(Problem(*read_lcp("lcp_mmc.dat")), kind).residuals[-1] <= 1e-8


def test_minimum_residual_needs_symmetry():
    """A miss, named: (30) with one alpha is no contraction on Murty's unsymmetric matrix."""
    assert solve(Problem(*read_lcp("lcp_exp_murty2.dat")), "mr", most=2000).residuals[-1] > 1.0


FRICTIONAL = {
    "FrictionContact3D_1c.dat": 1e-6,
    "FC3D_Example1.dat": 1e-6,
    "Confeti-ex13-4contact-Fc3D-SBM.dat": 1e-6,
    "NESpheres_10_1.dat": 1e-6,
    "NESpheres_30_1.dat": 1e-6,
    "Capsules-i122-1617.dat": 1e-6,
    "RockPile_tob1.dat": 1e-3,
}


@pytest.mark.parametrize("kind", ["gs", "jacobi", "ij", "mr", "cr"])
@pytest.mark.parametrize("name", FRICTIONAL)
def test_a26_friction(name, kind):
    problem = Problem(*read_fc3d(name))
    result = solve(problem, kind, most=5000, tolerance=FRICTIONAL[name])
    assert result.residuals[-1] <= FRICTIONAL[name]
    r = result.z.reshape(-1, 3)
    assert (r[:, 0] >= 0).all()
    assert (np.hypot(r[:, 1], r[:, 2]) <= problem.mu * r[:, 0] + 1e-12).all()


def test_improved_jacobi_needs_fewer_iterations_than_jacobi():
    problem = Problem(*read_fc3d("Capsules-i122-1617.dat"))
    plain, better = (
        solve(problem, kind, most=5000, tolerance=1e-6).iterations for kind in ("jacobi", "ij")
    )
    assert better < 0.5 * plain


def chain(n):
    """J W J^T of a hanging chain, and its load."""
    a = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    a[0, 0] = 1.0
    b = np.zeros(n)
    b[0] = -1.0
    free = np.full(n, np.inf)
    return Problem(a, b, lo=-free, hi=free)


def test_sign_of_the_memory():
    """ERRATA: with the printed sign of (37)-(38) a chain of 50 diverges, with plus it does not."""
    problem = chain(50)

    def run(sign, most=120, omega=0.5):
        z, change = np.zeros(50), np.zeros(50)
        for k in range(most):
            beta = (k / most) ** 0.6
            step = (
                -omega * (problem.A @ z + problem.q) / problem.A.diagonal() + sign * beta * change
            )
            z, change = z + step, step
        return np.linalg.norm(problem.A @ z + problem.q)

    assert run(-1) > 100.0
    assert run(+1) < 0.25


def test_cone_projection_is_nearest():
    rng = np.random.default_rng(1)
    mu = rng.uniform(0.1, 1.5, 200)
    points = rng.normal(0, 1, (200, 3))
    near = on_cone(points, mu)
    assert (np.hypot(near[:, 1], near[:, 2]) <= mu * near[:, 0] + 1e-12).all()
    gap = np.linalg.norm(points - near, axis=1)
    for _ in range(50):
        n = rng.uniform(0, 2, 200)
        t = mu * n * rng.uniform(0, 1, 200)
        phi = rng.uniform(0, 2 * np.pi, 200)
        other = np.column_stack([n, t * np.cos(phi), t * np.sin(phi)])
        assert (np.linalg.norm(points - other, axis=1) >= gap - 1e-12).all()


def test_bad_problems_are_named():
    with pytest.raises(InputError, match=r"A\[1, 1\]"):
        Problem(np.diag([1.0, 0.0]), np.zeros(2))
    with pytest.raises(InputError, match="iteration"):
        solve(chain(3), "sor")
