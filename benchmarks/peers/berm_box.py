"""berm: the default solver and the published form of P2."""

from __future__ import annotations

import importlib.util
import os
import sys

from case import ROOT, Array, Case, main

if importlib.util.find_spec("berm") is None:
    sys.path.insert(0, str(ROOT / "src"))


class Berm:
    """The case in berm; BERM_FORM=published takes the published form of P2."""

    def __init__(self, case: Case) -> None:
        import berm

        published = os.environ.get("BERM_FORM") == "published"
        self.label = "berm P2 published 1x10" if published else "berm P2 (default)"
        solver = berm.P2.published() if published else "p2"
        self.world = world = berm.World(gravity=(0.0, 0.0, -case.gravity), solver=solver)
        self.dt = 1 / 60
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
        for _ in range(max(round(seconds / self.dt), 1)):
            self.world.step()

    def read(self) -> tuple[Array, Array]:
        """Positions and velocities."""
        grains = self.world.grains
        return grains.position.copy(), grains.velocity.copy()


if __name__ == "__main__":
    main(Berm)
