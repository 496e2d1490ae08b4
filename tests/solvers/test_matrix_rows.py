"""Siconos' problems (CASES A25, A26) through the solvers of rows of the multibody core.

A row pushes as it feels, so that W = J J^T: unsymmetric problems are none of rows, whatever solves
them. Those are Murty's, Ortiz' and CPS_4 of the LCPs, and of the frictional ones Capsules and
RockPile, whose files hold a W that is unsymmetric by 1e-3.
"""

from __future__ import annotations

import numpy as np
import pytest

from berm.solvers.vts.mlcp import Problem
from tests.solvers.matrix_rows import MatrixRows
from tests.solvers.test_mlcp import DATA, by_enumeration, read_fc3d, read_lcp

METHODS = ("sweeps", "direct", "hybrid", "split")
SWEEPS = 20_000
SYMMETRIC = ("lcp_deudeu.dat", "lcp_trivial.dat", "lcp_mmc.dat")
UNSYMMETRIC = (
    "lcp_ortiz.dat", "lcp_exp_murty.dat", "lcp_exp_murty2.dat", "lcp_CPS_4.dat",
    "Capsules-i122-1617.dat", "RockPile_tob1.dat",
)  # fmt: skip
FRICTIONAL = (
    "FrictionContact3D_1c.dat", "FC3D_Example1.dat", "Confeti-ex13-4contact-Fc3D-SBM.dat",
    "NESpheres_10_1.dat", "NESpheres_30_1.dat",
)  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SYMMETRIC)
def test_a25_lcp_as_rows(name, method):
    m, q = read_lcp(name)
    z = MatrixRows(m, q).solve(method, SWEEPS if method == "sweeps" else 20)
    assert z is not None, "it fell back to sweeps"
    assert Problem(m, q).residual(z) <= 1e-8
    if len(q) <= 6:
        assert min(np.abs(z - exact).max() for exact in by_enumeration(m, q)) < 1e-8


@pytest.mark.parametrize("method", METHODS)
def test_a25_redundant_rows_find_one_of_many_solutions(method):
    """CPS_1: any z_1 + z_2 = 1; the direct solve shares it evenly, as its compliance says."""
    m, q = read_lcp("lcp_CPS_1.dat")
    z = MatrixRows(m, q).solve(method, SWEEPS)
    assert Problem(m, q).residual(z) <= 1e-8
    assert z.sum() == pytest.approx(1.0, abs=1e-8)
    if method == "direct":
        np.testing.assert_allclose(z, 0.5, atol=1e-6)


def frictional(name):
    """The matrix problem and its rows; with the bodies behind W where two do not carry it."""
    w, q, mu = read_fc3d(name)
    file = DATA / name.replace(".dat", "-rows.npz")
    given = None
    if file.exists():
        with np.load(file) as data:
            given = data["ends"], data["J"]
    return Problem(w, q, mu), MatrixRows(w, q, mu, given)


@pytest.mark.parametrize("name", FRICTIONAL)
def test_rows_make_the_matrix(name):
    problem, rows = frictional(name)
    assert not rows.chained
    j = rows.jacobian()
    made = j @ j.T + np.diag(rows.sigma)
    w = problem.A.toarray()
    np.testing.assert_allclose(made, w, atol=1e-7 * np.abs(w).max())


@pytest.mark.parametrize(("method", "passes", "calls"), [
    ("sweeps", SWEEPS, 1), ("split", 200, 50),
])  # fmt: skip
@pytest.mark.parametrize("name", FRICTIONAL)
def test_a26_friction_as_rows(name, method, passes, calls):
    """Natural map of Coulomb's law at most 1e-6; the split goes on from its own impulses.

    Direct solves (and the hybrid, which is direct where few bodies touch) are not asked: friction
    as boxes is no cone where tangents do not lie along the slip.
    """
    problem, rows = frictional(name)
    z = rows.solve(method, passes, calls)
    assert z is not None, "it fell back to sweeps"
    assert problem.residual(z) <= 1e-6
    r = z.reshape(-1, 3)
    assert (r[:, 0] >= 0).all()
    assert (np.hypot(r[:, 1], r[:, 2]) <= problem.mu * r[:, 0] + 1e-9 * np.abs(z).max()).all()


@pytest.mark.parametrize("name", UNSYMMETRIC)
def test_unsymmetric_problems_are_none_of_rows(name):
    w, q = read_lcp(name) if name.startswith("lcp") else read_fc3d(name)[:2]
    with pytest.raises(ValueError, match="symmetric"):
        MatrixRows(w, q)
