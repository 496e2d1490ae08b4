"""Newton (Warp): XPBD particles with friction on the CPU, walls as planes."""

from __future__ import annotations

from case import Array, Case, main

FRAME = 1 / 60
SUBSTEPS, ITERATIONS = 4, 4


class Newton:
    """The case as particles of Newton's XPBD solver: hard contacts, no stiffness to set."""

    def __init__(self, case: Case) -> None:
        import newton
        import warp as wp

        wp.config.quiet = True
        wp.set_device("cpu")
        self.dt = FRAME / SUBSTEPS
        self.label = f"Newton XPBD {SUBSTEPS}x{ITERATIONS}"
        x, v = case.start()
        builder = newton.ModelBuilder(up_axis=newton.Axis.Z, gravity=(0.0, 0.0, -case.gravity))
        n = case.grains
        builder.add_particles(
            pos=[wp.vec3(*map(float, p)) for p in x],
            vel=[wp.vec3(*map(float, p)) for p in v],
            mass=[case.mass] * n,
            radius=[case.radius] * n,
        )
        config = newton.ModelBuilder.ShapeConfig(mu=case.friction)
        for nx, ny, nz, offset in case.planes.tolist():
            builder.add_shape_plane((nx, ny, nz, -offset), width=0.0, length=0.0, cfg=config)
        self.model = builder.finalize(device="cpu")
        self.model.particle_mu = case.friction
        self.model.soft_contact_mu = case.friction
        self.solver = newton.solvers.SolverXPBD(self.model, iterations=ITERATIONS)
        self.pipeline = newton.CollisionPipeline(self.model, soft_contact_margin=0.5 * case.radius)
        self.contacts = self.pipeline.contacts()
        self.now, self.then = self.model.state(), self.model.state()
        self.control = self.model.control()

    def advance(self, seconds: float) -> None:
        """Run whole substeps."""
        for _ in range(max(round(seconds / self.dt), 1)):
            self.now.clear_forces()
            self.pipeline.collide(self.now, self.contacts)
            self.solver.step(self.now, self.then, self.control, self.contacts, self.dt)
            self.now, self.then = self.then, self.now

    def read(self) -> tuple[Array, Array]:
        """Positions and velocities."""
        return self.now.particle_q.numpy(), self.now.particle_qd.numpy()


if __name__ == "__main__":
    main(Newton)
