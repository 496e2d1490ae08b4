"""berm: the default solver, the published form of P2, and discrete elements."""

from __future__ import annotations

import importlib.util
import math
import os
import sys

from case import ROOT, Array, Case, main

if importlib.util.find_spec("berm") is None:
    sys.path.insert(0, str(ROOT / "src"))


STEPS_A_CONTACT = 25  # as LAMMPS


class Berm:
    """The case in berm; BERM_FORM=published takes the published form of P2.

    BERM_FORM=dem: the law and step of LAMMPS's gran/hooke/history, with which it shares the case.
    """

    def __init__(self, case: Case) -> None:
        import berm

        form = os.environ.get("BERM_FORM", "")
        self.dt = self.frame = 1 / 60
        if form == "published":
            self.label, solver = "berm P2 published 1x10", berm.P2.published()
        elif form == "dem":
            step = case.contact_time / STEPS_A_CONTACT
            spring = {"law": "history", "stiffness": 2 / 7, "damping": 0.5}
            self.label = "berm DEM linear/history"
            solver = berm.DEM(
                normal="linear", tangential=spring, step_size=step,
                start_overlap=1.0,  # as LAMMPS: the packing is P2's, whose contacts are softer
            )  # fmt: skip
            self.dt = self.frame / math.ceil(self.frame / step)
        else:
            self.label, solver = "berm P2 (default)", "p2"
        self.world = world = berm.World(gravity=(0.0, 0.0, -case.gravity), solver=solver)
        material = berm.Material(
            name="box", density=case.density, stiffness=case.stiffness,
            restitution=case.restitution, friction_static=case.friction,
            friction_kinetic=case.friction,
        )  # fmt: skip
        x, v = case.start()
        world.add_grains(x, case.radius, velocity=v, material=material)
        a, height = case.side, 4.0 * case.side
        shape = berm.Box(size=(a, a, height), inside=True, open_top=True)
        world.add_body(
            shape, name="box", material=material, position=(0.5 * a, 0.5 * a, 0.5 * height)
        )

    def advance(self, seconds: float) -> None:
        """Run whole steps."""
        for _ in range(max(round(seconds / self.frame), 1)):
            self.world.step()

    def read(self) -> tuple[Array, Array]:
        """Positions and velocities."""
        grains = self.world.grains
        return grains.position.copy(), grains.velocity.copy()


if __name__ == "__main__":
    main(Berm)
