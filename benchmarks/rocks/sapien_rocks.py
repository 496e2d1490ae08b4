"""PhysX 5 on the processor, through SAPIEN: rigid bodies of spheres, temporal Gauss-Seidel."""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.rocks.case import FRICTION, STEP, Array, G, Pile, main


class PhysX:
    """SAPIEN's own settings (10 position and 1 velocity iteration) but for step and sleep."""

    def __init__(self, pile: Pile, asked: argparse.Namespace) -> None:
        import sapien
        from sapien import physx

        if not asked.sleep:
            physx.set_body_config(sleep_threshold=0.0)
        physx.set_scene_config(gravity=np.array([0.0, 0.0, -G]))
        self.system = physx.PhysxCpuSystem()
        self.system.timestep = STEP
        scene = sapien.Scene([self.system])
        rub = physx.PhysxMaterial(FRICTION, FRICTION, 0.0)
        floor, ground = sapien.Entity(), physx.PhysxRigidStaticComponent()
        plane = physx.PhysxCollisionShapePlane(rub)
        half = 0.5**0.5  # PhysX' planes look along x
        plane.local_pose = sapien.Pose([0, 0, 0], [half, 0, -half, 0])
        ground.attach(plane)
        floor.add_component(ground)
        scene.add_entity(floor)
        self.bodies = []
        for kind, x, q in pile.rocks():
            rock, body = sapien.Entity(), physx.PhysxRigidDynamicComponent()
            for centre, radius in zip(kind.centres, kind.radii, strict=True):
                ball = physx.PhysxCollisionShapeSphere(float(radius), rub)
                ball.local_pose = sapien.Pose(centre, [1, 0, 0, 0])
                body.attach(ball)
            body.mass, body.inertia = kind.mass, kind.moments
            body.cmass_local_pose = sapien.Pose()
            body.linear_damping = body.angular_damping = 0.0
            rock.add_component(body)
            rock.set_pose(sapien.Pose(x, q))
            scene.add_entity(rock)
            self.bodies.append(body)
        self.scene = scene
        self.label = f"PhysX (SAPIEN {sapien.__version__})" + (", sleep" if asked.sleep else "")

    def advance(self, steps: int) -> None:
        """Run whole steps."""
        for _ in range(steps):
            self.system.step()

    def read(self) -> tuple[Array, Array, Array, Array]:
        """Poses and velocities of the bodies' centres."""
        return (
            np.array([body.pose.p for body in self.bodies], float),
            np.array([body.pose.q for body in self.bodies], float),
            np.array([body.linear_velocity for body in self.bodies], float),
            np.array([body.angular_velocity for body in self.bodies], float),
        )


if __name__ == "__main__":
    main(PhysX)
