"""PyBullet: compound shapes of spheres, sequential impulses."""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.rocks.case import FRICTION, STEP, Array, G, Pile, main


class Bullet:
    """Its own settings but for the step; friction of a pair is the product of the two."""

    def __init__(self, pile: Pile, asked: argparse.Namespace) -> None:
        import pybullet as p

        self.p = p
        p.connect(p.DIRECT)
        p.setGravity(0, 0, -G)
        p.setTimeStep(STEP)
        p.setPhysicsEngineParameter(deterministicOverlappingPairs=1)
        rub = {"lateralFriction": FRICTION**0.5, "restitution": 0.0}
        floor = p.createMultiBody(0.0, p.createCollisionShape(p.GEOM_PLANE))
        p.changeDynamics(floor, -1, **rub)
        self.rocks = []
        awake = p.ACTIVATION_STATE_ENABLE_SLEEPING if asked.sleep else (
            p.ACTIVATION_STATE_DISABLE_SLEEPING
        )  # fmt: skip
        for kind, x, q in pile.rocks():
            shape = p.createCollisionShapeArray(
                shapeTypes=[p.GEOM_SPHERE] * len(kind.radii), radii=kind.radii.tolist(),
                collisionFramePositions=kind.centres.tolist(),
            )  # fmt: skip
            rock = p.createMultiBody(
                kind.mass, shape, basePosition=x.tolist(), baseOrientation=np.roll(q, -1).tolist()
            )
            p.changeDynamics(
                rock, -1, localInertiaDiagonal=kind.moments.tolist(), linearDamping=0.0,
                angularDamping=0.0, rollingFriction=0.0, spinningFriction=0.0,
                activationState=awake, **rub,
            )  # fmt: skip
            self.rocks.append(rock)
        self.label = f"PyBullet {p.getAPIVersion()}" + (", sleep" if asked.sleep else "")

    def advance(self, steps: int) -> None:
        """Run whole steps."""
        for _ in range(steps):
            self.p.stepSimulation()

    def read(self) -> tuple[Array, Array, Array, Array]:
        """Poses and velocities of the bodies' centres."""
        pose = [self.p.getBasePositionAndOrientation(rock) for rock in self.rocks]
        speed = [self.p.getBaseVelocity(rock) for rock in self.rocks]
        q = np.roll(np.array([one[1] for one in pose]), 1, axis=1)
        return (
            np.array([one[0] for one in pose]), q, np.array([one[0] for one in speed]),
            np.array([one[1] for one in speed]),
        )  # fmt: skip


if __name__ == "__main__":
    main(Bullet)
