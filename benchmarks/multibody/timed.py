"""Time of single solves inside compiled code, on rows as a running machine makes them.

A call from Python unpacks some forty arrays, which takes longer than a solve; the clock is read
where the work is done.
"""

from __future__ import annotations

import ctypes

import numpy as np

from berm.kernels.jit import jit
from berm.kernels.multibody import solve, substep
from berm.kernels.multibody.newton import mobility
from berm.kernels.multibody.solve import grip, solve_rows

_clock = ctypes.CDLL(None).clock_gettime
_clock.argtypes = (ctypes.c_int, ctypes.c_void_p)
_clock.restype = ctypes.c_int
THREAD = 3  # CLOCK_THREAD_CPUTIME_ID: what others take from the processor does not count


@jit
def _now(two):
    _clock(THREAD, two.ctypes.data)
    return two[0] * 1e9 + two[1]


@jit
def time_solves(method, rows, start, joints, m, bodies, u0, u, plan, passes, stats, out):
    """Solve from the impulses `start` as often as out is long; out receives ns each."""
    two = np.zeros(2, np.int64)
    for k in range(out.shape[0]):
        rows.lam[:] = start
        begin = _now(two)
        plan = solve_rows(method, rows, joints, m, bodies, u0, u, plan, passes, stats)
        out[k] = _now(two) - begin
    return plan


@jit
def time_mobility(rows, m, bodies, plan, b, out, factors):
    """Ns of one body's mobility with the factor known, and of that factor."""
    two, answer = np.zeros(2, np.int64), np.empty((6, 6))
    for k in range(out.shape[0]):
        begin = _now(two)
        plan, blocks = grip(rows, m, bodies, plan)
        middle = _now(two)
        mobility(b, bodies, plan, blocks, answer)
        out[k], factors[k] = _now(two) - middle, middle - begin
    return plan


class Solves:
    """Times of the solves that a running world is about to do."""

    def __init__(self, world, rate: int, repeats: int = 5) -> None:
        self.world, self.rate = world, rate
        self.out, self.plan = np.zeros(repeats), None
        self.warm: list[float] = []
        self.cold: list[float] = []
        self.factored: list[float] = []
        self.contacts: list[int] = []
        self.failed = 0

    def take(self) -> None:
        """Make the rows of the coming step, solve them warm and cold; the world does not notice."""
        world, multi = self.world, self.world.solver.multibody
        multi.follow(world)
        means = multi.means(world.gravity, 1 / self.rate)
        silent = means._replace(method=solve.SWEEPS, passes=0)  # rows as they start
        opened = substep.begin(
            multi.arrays, multi.joints, world.bodies.tag, multi.table.arrays, multi.solids,
            silent, np.asarray(world.gravity), 1 / self.rate, multi.memory,
            np.zeros_like(multi.stats),
        )  # fmt: skip
        contacts, rows, joints, m, u0, u, plan = opened
        start, stats = rows.lam.copy(), np.zeros_like(multi.stats)
        plan = plan if self.plan is None else self.plan
        given = (joints, m, multi.arrays, u0, u)
        for first, times in ((start, self.warm), (np.zeros_like(start), self.cold)):
            stats[:] = 0.0
            self.plan = time_solves(
                means.method, rows, first, *given, plan, means.passes, stats, self.out
            )
            times.append(1e-3 * float(np.median(self.out)))
            if times is self.warm:
                self.factored.append(stats[solve.FACTORED] / len(self.out))
                self.failed += int(stats[solve.FAILED] > 0)
        self.contacts.append(int(contacts.n[0]))
        self.last = (rows, m)

    def of_mobility(self, body, repeats: int = 200) -> tuple[float, float]:
        """Us of a body's mobility with the factor known, and of the factor, at the last rows."""
        out, factors = np.zeros(repeats), np.zeros(repeats)
        rows, m = self.last
        time_mobility(
            rows, m, self.world.solver.multibody.arrays, self.plan, body.row, out, factors
        )
        return 1e-3 * float(np.median(out)), 1e-3 * float(np.median(factors))
