"""Nonsmooth: machines and rocks as one constrained multibody system, [Lacoursiere10].

One step of 1/60 s is one mixed complementarity problem (1) of joints, drives, contacts and
friction, regularised and stabilised (docs/theory/nonsmooth.md). Bodies that rest against each other
are merged, and split on demand (Fig. 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from berm.core.errors import InputError
from berm.core.report import StepReport
from berm.core.saved import Facts, Saved
from berm.solvers.base import SOLVERS, Solver, Stages, WorldView
from berm.solvers.multibody.merging import Merging
from berm.solvers.multibody.multibody import METHODS, Multibody
from berm.solvers.options import choice, flag, number, whole
from berm.solvers.walls.check import check_multibody

Array = npt.NDArray[Any]


@SOLVERS.register("nonsmooth")
@dataclass
class Nonsmooth(Solver):
    """Rigid bodies, joints and motors in large steps, [Lacoursiere10] (1); no grains.

    method: "hybrid" (default) sweeps over all contacts, machines through their port, then solves
    joints and normals direct, last; "split" is the paper's: normals and joints direct, friction by
    Gauss-Seidel, in turns; "direct" and "sweeps" are each for all rows. Small groups of bodies go
    direct with hybrid, too.
    """

    method: str = choice("hybrid", [*METHODS], "how the rows of constraints are solved")
    sweeps: int = whole(15, 1, 10_000, "Gauss-Seidel passes a solve")
    warm: float = number(1.0, 0.0, 1.0, "part of the last impulses that a solve starts from")
    substeps: int = whole(1, 1, 10_000, "substeps a step")
    compliance: float = number(
        2e-10, 0.0, 1.0, "of contacts between bodies, besides that of their materials", "m/N", True
    )
    rolling: bool = flag(True, "whether materials resist rolling")
    merging: bool = flag(False, "whether bodies at rest against each other are merged, Fig. 2")
    merge_speed: float = number(
        0.01, 0.0, 10.0, "relative speed at contacts below which bodies may be merged", "m/s", True
    )
    split_speed: float = number(
        0.02, 0.0, 10.0, "relative speed above which a body is split off", "m/s", True
    )
    merge_cone: float = number(
        0.95, 0.0, 1.0, "part of the friction cone that a contact to be merged may fill"
    )
    merge_press: float = number(
        0.001, 0.0, 1.0, "part of the lighter body's weight with which a contact has to press"
    )
    merge_steps: int = whole(15, 1, 10_000, "steps for which a body has to be quiet to be merged")
    merge_tilt: float = number(
        0.5, 0.0, 100.0, "change of the gravity that a moving super-body feels, after which all of "
        "its contacts are tried", "m/s^2", True,
    )  # fmt: skip

    name = "nonsmooth"
    can = frozenset({"bodies", "joints", "adhesion"})
    precision = "float64"
    live = ("sweeps", "substeps", "warm")
    variants: ClassVar[dict[str, dict[str, Any]]] = {"lacoursiere": {"method": "split"}}

    def _check_together(self) -> None:
        if self.split_speed < self.merge_speed:
            raise InputError(
                "solver nonsmooth: split_speed", self.split_speed,
                f"at least merge_speed = {self.merge_speed:g}: bodies would flicker",
            )  # fmt: skip

    def _make_arrays(self, world: WorldView) -> None:
        self.multibody = Multibody(
            self.method, self.sweeps, rolling=self.rolling, compliance=self.compliance
        )
        if self.merging:
            self.multibody.merging = Merging(
                self.merge_speed, self.split_speed, self.merge_cone, self.merge_press,
                self.merge_steps, self.merge_tilt,
            )  # fmt: skip

    # ---- the step -------------------------------------------------------------------------

    def step(self, world: WorldView, dt: float) -> StepReport:
        """Advance by dt: contacts, rows, solve, move; super-bodies split before and merge after."""
        multi = self.multibody
        clock, report = Stages(), StepReport(substeps=self.substeps, iterations=self.sweeps)
        if multi.merging is not None and multi.merging.is_asleep(world):
            report.merged = multi.merging.merged
            report.merge_loss = multi.merging.lost
            return report
        multi.passes, multi.warm = self.sweeps, self.warm
        with clock.stage("prepare"):
            multi.follow(world)
        if multi.active:
            with clock.stage("bodies"):
                multi.advance(world, dt, self.substeps)
            multi.tell(report)
            report.kinetic_energy = world.bodies.kinetic_energy()
        report.timings = clock.seconds
        return report

    # ---- state ----------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything that a restart needs beside the columns of bodies and joints."""
        return {"multibody": self.multibody.state()}

    def check_state(self, saved: Saved, facts: Facts, world: WorldView) -> None:
        """Refuse what contacts of other bodies remember."""
        check_multibody(saved.part("multibody"))

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        self.multibody.restore(state["multibody"])

    def grain_fields(self, world: WorldView) -> dict[str, Array]:
        """Nothing, for there are no grains."""
        return {"overlap": np.zeros(0), "force": np.zeros(0)}
