"""The hand-written C++ twin of berm's P2 (benchmarks/twin): the limit, not a peer."""

from __future__ import annotations

import os
import sys

import numpy as np
from case import ROOT, Array, Case, main

sys.path.insert(0, str(ROOT))


class TwinBox:
    """The case in the twin; TWIN_FORM=published takes the published form."""

    def __init__(self, case: Case) -> None:
        from benchmarks.twin import Twin, TwinParams, TwinUnavailable

        self.form = os.environ.get("TWIN_FORM", "sweep")
        published = self.form == "published"
        self.label = "C++ twin published 1x10" if published else "C++ twin (default form)"
        self.dt = 1 / 60
        x, v = case.start()
        params = TwinParams(
            gravity=(0.0, 0.0, -case.gravity), stiffness=case.stiffness, damping=case.damping,
            friction_static=case.friction, friction_kinetic=case.friction, threads=case.threads,
            eps_depth=0.5 if published else 0.0,
            iterations=10 if published else 1, substeps=1 if published else 10,
        )  # fmt: skip
        n = case.grains
        try:
            self.twin = Twin(
                np.c_[x, np.full(n, case.radius)], np.c_[v, np.full(n, 1 / case.mass)],
                case.planes, params,
            )  # fmt: skip
        except TwinUnavailable as problem:
            raise OSError(str(problem)) from problem

    def advance(self, seconds: float) -> None:
        """Run whole steps."""
        self.twin.step(self.form, max(round(seconds / self.dt), 1))

    def read(self) -> tuple[Array, Array]:
        """Positions and velocities."""
        x, v, _ = self.twin.state()
        return x[:, :3], v[:, :3]


if __name__ == "__main__":
    main(TwinBox)
