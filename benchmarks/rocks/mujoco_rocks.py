"""MuJoCo: free bodies of spheres; steps of 1/60 s make its contacts softer than by default."""

from __future__ import annotations

import argparse

from benchmarks.rocks.case import FRICTION, STEP, Array, G, Pile, main, matrices


class Mujoco:
    """Newton's method, as MuJoCo starts by itself, or conjugate gradients (--solver cg)."""

    def __init__(self, pile: Pile, asked: argparse.Namespace) -> None:
        import mujoco

        gradients = asked.solver == "cg"
        self.mujoco = mujoco
        self.label = f"MuJoCo {mujoco.__version__}, {'CG' if gradients else 'Newton'}"
        spec = mujoco.MjSpec()
        if gradients:
            spec.option.solver = mujoco.mjtSolver.mjSOL_CG
            spec.option.jacobian = mujoco.mjtJacobian.mjJAC_SPARSE
        spec.option.timestep, spec.option.gravity = STEP, [0, 0, -G]
        spec.memory = 2 << 30
        friction = [FRICTION, 0.0, 0.0]
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], friction=friction, condim=3
        )
        for kind, x, q in pile.rocks():
            body = spec.worldbody.add_body(
                pos=x, quat=q, mass=kind.mass, inertia=kind.moments, ipos=[0, 0, 0],
                explicitinertial=True,
            )  # fmt: skip
            body.add_freejoint()
            for centre, radius in zip(kind.centres, kind.radii, strict=True):
                body.add_geom(
                    type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[radius, 0, 0], pos=centre,
                    friction=friction, condim=3, mass=0.0,
                )  # fmt: skip
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)

    def advance(self, steps: int) -> None:
        """Run whole steps."""
        for _ in range(steps):
            self.mujoco.mj_step(self.model, self.data)

    def read(self) -> tuple[Array, Array, Array, Array]:
        """Free joints: turning is given in the body's own frame."""
        at, v = self.data.qpos.reshape(-1, 7), self.data.qvel.reshape(-1, 6)
        turning = (matrices(at[:, 3:]) @ v[:, 3:, None])[:, :, 0]
        return at[:, :3].copy(), at[:, 3:].copy(), v[:, :3].copy(), turning


if __name__ == "__main__":
    main(Mujoco)
