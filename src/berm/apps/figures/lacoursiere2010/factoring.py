"""Times of direct factorisations of H: SuperLU, QDLDL where it is installed, and the core's own."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from berm.apps.figures.lacoursiere2010.system import System
from berm.kernels.jit import in_python, jit
from berm.kernels.multibody.blocks import assemble, factor, no_plan, plan_for
from berm.kernels.multibody.newton import FREE

LEAST = 0.05  # s of a processor that a time is taken over


@jit
def _factor_often(plan, rows, pick, free, blocks, repeats):  # type: ignore[no-untyped-def]
    """Assemble and factor one group of rows again and again; how often it went well."""
    good = 0
    for _ in range(repeats):
        assemble(plan, 0, rows, pick, 0, pick.shape[0], free, blocks)
        good += factor(plan, 0, blocks)
    return good


def times(system: System) -> dict[str, float]:
    """Milliseconds of a processor that factoring joints and pressing normals takes."""
    chosen = system.pressing()
    h = system.matrix(chosen)
    found = {
        "superlu": _time(lambda: _superlu(h)),
        "superlu_friction": _time(lambda: _superlu(system.matrix())),
        "blocks": _blocks(system, chosen),
    }
    try:
        qdldl = importlib.import_module("qdldl")
    except ImportError:
        return found
    symmetric = sp.bmat(
        [[system.M, system.G[chosen].T], [system.G[chosen], -sp.diags(system.sigma[chosen])]],
        format="csc",
    )
    return found | {"qdldl": _time(lambda: qdldl.Solver(symmetric))}


def _superlu(h: Any) -> Any:
    # the pattern is symmetric and the diagonal fit to be a pivot: sigma is above 0
    return splu(h, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0,
                options={"SymmetricMode": True})  # fmt: skip


def wrong(system: System) -> float:
    """Relative residual of a solve with SuperLU: whether the factor is one."""
    h = system.matrix(system.pressing())
    b = np.random.default_rng(0).normal(size=h.shape[0])
    x = _superlu(h).solve(b)
    return float(np.abs(h @ x - b).max() / (np.abs(h) @ np.abs(x) + np.abs(b)).max())


def _time(work: Callable[[], object], repeats: int = 5) -> float:
    """Median over a few rounds, ms a call."""
    work()
    begin = time.process_time()
    work()
    calls = max(1, int(LEAST / max(time.process_time() - begin, 1e-6)))
    found = []
    for _ in range(repeats):
        begin = time.process_time()
        for _ in range(calls):
            work()
        found.append((time.process_time() - begin) / calls)
    return 1e3 * float(np.median(found))


def _blocks(system: System, chosen: Any) -> float:
    """The core's 6 x 6 blocks, their order known as it is from step to step; ms."""
    pick = system.head[chosen].astype(np.int64)
    groups = np.array([0, len(pick)])
    plan = plan_for(
        in_python(no_plan)(len(system.arrays.kind)), system.rows, pick, groups, system.arrays
    )
    blocks = np.empty((plan.column.shape[0], 6, 6))
    free = np.full(len(pick), FREE)

    def often(repeats: int) -> None:
        if _factor_often(plan, system.rows, pick, free, blocks, repeats) != repeats:
            raise ArithmeticError("a block of H was not positive")

    often(1)
    begin = time.process_time()
    often(3)
    calls = max(3, int(LEAST / max((time.process_time() - begin) / 3, 1e-6)))
    return _time(lambda: often(calls), 3) / calls
