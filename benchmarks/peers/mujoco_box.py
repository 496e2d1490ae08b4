"""MuJoCo: free spheres between planes, soft convex contacts with an elliptic friction cone."""

from __future__ import annotations

from case import Array, Case, main

LIMIT = 2000  # its solver factors or sweeps all contacts together: minutes a step beyond this
DT = 0.004


class Mujoco:
    """The case as free bodies; contact softness is solref/solimp, as MuJoCo has it."""

    def __init__(self, case: Case) -> None:
        if case.grains > LIMIT:
            raise OSError(f"MuJoCo is run up to {LIMIT} grains only")
        import mujoco

        self.mujoco = mujoco
        self.dt, self.label = DT, "MuJoCo CG"
        spec = mujoco.MjSpec()
        spec.option.timestep = DT
        spec.option.gravity = [0, 0, -case.gravity]
        spec.option.solver = mujoco.mjtSolver.mjSOL_CG
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        spec.option.iterations = 20
        spec.option.jacobian = mujoco.mjtJacobian.mjJAC_SPARSE
        spec.memory = 2 << 30
        friction = [case.friction, 0.0, 0.0]
        for nx, ny, nz, offset in case.planes.tolist():
            spec.worldbody.add_geom(
                type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], friction=friction, condim=3,
                pos=[nx * offset, ny * offset, nz * offset],
                quat=_turn_z_to(nx, ny, nz),
            )  # fmt: skip
        x, v = case.start()
        for p in x.tolist():
            body = spec.worldbody.add_body(pos=p)
            body.add_freejoint()
            body.add_geom(
                type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[case.radius, 0, 0],
                density=case.density, friction=friction, condim=3,
            )  # fmt: skip
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.data.qvel.reshape(-1, 6)[:, :3] = v

    def advance(self, seconds: float) -> None:
        """Run whole steps."""
        for _ in range(max(round(seconds / self.dt), 1)):
            self.mujoco.mj_step(self.model, self.data)

    def read(self) -> tuple[Array, Array]:
        """Positions and velocities."""
        x, v = self.data.qpos.reshape(-1, 7), self.data.qvel.reshape(-1, 6)
        return x[:, :3].copy(), v[:, :3].copy()


def _turn_z_to(nx: float, ny: float, nz: float) -> list[float]:
    if nz > 0:
        return [1.0, 0.0, 0.0, 0.0]
    half = 0.5**0.5
    return [half, -ny * half, nx * half, 0.0]


if __name__ == "__main__":
    main(Mujoco)
