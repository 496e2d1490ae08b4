"""berm: bodies of spheres by any of its solvers (`--solver`, `--options`)."""

from __future__ import annotations

import argparse
import json

import numpy as np

from benchmarks.rocks.case import FRICTION, STEP, Array, G, Pile, main


class Berm:
    """Composites as `Spheres`; mass and inertia as all others have them."""

    def __init__(self, pile: Pile, asked: argparse.Namespace) -> None:
        import berm
        from berm.core.rotations import turned
        from berm.kernels.jit import set_threads
        from berm.solvers import SOLVERS

        set_threads(1)
        solver = SOLVERS.get(asked.solver)(**json.loads(asked.options))
        self.world = berm.World(dt=STEP, gravity=(0.0, 0.0, -G), solver=solver)
        rock = berm.material("gravel", friction=FRICTION, restitution=1e-9, adhesion=0.0)
        self.world.add_body(berm.Plane(), name="floor", material=rock)
        shapes = [berm.Spheres(kind.centres, kind.radii) for kind in pile.kinds]
        unit = np.eye(3)
        self.rocks = [
            self.world.add_body(
                shapes[k], name=f"rock {n}", dynamic=True, material=rock, position=pile.x[n],
                rotation=np.column_stack([turned(pile.q[n], e) for e in unit]),
                mass=pile.mass[n], inertia=np.diag(pile.moments[n]), centre=(0.0, 0.0, 0.0),
            )
            for n, k in enumerate(pile.which)
        ]  # fmt: skip
        given = "" if asked.options == "{}" else f" {asked.options}"
        self.label = f"berm {asked.solver}{given}"

    def advance(self, steps: int) -> None:
        """Run whole steps."""
        for _ in range(steps):
            self.world.step()

    def read(self) -> tuple[Array, Array, Array, Array]:
        """Poses and velocities of the bodies' centres."""
        from scipy.spatial.transform import Rotation

        turn = Rotation.from_matrix(np.array([rock.rotation for rock in self.rocks]))
        return (
            np.array([rock.centre for rock in self.rocks]),
            np.roll(turn.as_quat(), 1, axis=1),
            np.array([rock.velocity for rock in self.rocks]),
            np.array([rock.angular_velocity for rock in self.rocks]),
        )


if __name__ == "__main__":
    main(Berm)
