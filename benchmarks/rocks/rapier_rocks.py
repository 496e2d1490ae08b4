"""Rapier through its own Python bindings, float32: rigid bodies of balls."""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.rocks.case import FRICTION, STEP, Array, G, Pile, main


class Rapier:
    """Its own settings but for the step, one thread and sleep."""

    def __init__(self, pile: Pile, asked: argparse.Namespace) -> None:
        import rapier3d as r

        self.world = r.PhysicsWorld(gravity=(0.0, 0.0, -G))
        self.world.set_num_threads(1)
        self.world.integration_parameters.dt = STEP
        floor = r.Collider.halfspace((0.0, 0.0, 1.0)).friction(FRICTION).restitution(0.0)
        self.world.add_collider(floor)
        self.handles = []
        for kind, x, q in pile.rocks():
            whole = r.MassProperties((0.0, 0.0, 0.0), kind.mass, tuple(kind.moments.tolist()))
            body = (
                r.RigidBody.dynamic()
                .position(r.Isometry3(tuple(x.tolist()), r.Rotation3(*q.tolist())))
                .additional_mass_properties(whole)
                .can_sleep(asked.sleep)
            )
            balls = [
                r.Collider.ball(radius).translation(tuple(centre)).density(0.0)
                .friction(FRICTION).restitution(0.0)
                for centre, radius in zip(kind.centres.tolist(), kind.radii.tolist(), strict=True)
            ]  # fmt: skip
            self.handles.append(self.world.add_body(body, balls))
        self.label = "Rapier 0.36" + (", sleep" if asked.sleep else "")

    def advance(self, steps: int) -> None:
        """Run whole steps."""
        for _ in range(steps):
            self.world.step()

    def read(self) -> tuple[Array, Array, Array, Array]:
        """Poses and velocities of the bodies' centres."""
        bodies = [self.world.rigid_bodies[handle] for handle in self.handles]

        def three(v):  # type: ignore[no-untyped-def]
            return v.x, v.y, v.z

        return (
            np.array([three(b.translation) for b in bodies]),
            np.array([(b.rotation.w, b.rotation.i, b.rotation.j, b.rotation.k) for b in bodies]),
            np.array([three(b.linvel) for b in bodies]),
            np.array([three(b.angvel) for b in bodies]),
        )


if __name__ == "__main__":
    main(Rapier)
