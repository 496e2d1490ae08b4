"""The chain under load in Newton (Warp on the processor): reduced coordinates, and XPBD."""

from __future__ import annotations

import numpy as np

from benchmarks.multibody import worlds


class NewtonChain:
    """method: "Featherstone", or "XPBD" with so many iterations a step."""

    def __init__(self, dt: float, method: str, iterations: int = 20) -> None:
        import newton
        import warp as wp

        wp.config.quiet = True
        wp.set_device("cpu")
        builder = newton.ModelBuilder(up_axis=newton.Axis.Z, gravity=(0.0, 0.0, -9.81))
        joints, before = [], -1
        for k in range(worlds.LINKS + 1):
            last = k == worlds.LINKS
            mass, half = (worlds.LOAD, 0.2) if last else (worlds.LINK, 0.1)
            if last:
                moments = np.full(3, 0.4 * mass * half**2)
            else:
                across = mass / 12.0 * (0.2**2 + 0.05**2)
                moments = np.array([across, across, mass / 12.0 * 2 * 0.05**2])
            top = -0.2 * k
            link = builder.add_link(
                xform=wp.transform((0.0, 0.0, top - half), wp.quat_identity()), mass=mass,
                inertia=wp.mat33(*np.diag(moments).ravel().tolist()), lock_inertia=True,
            )  # fmt: skip
            hung = (0.0, 0.0, top if before < 0 else -0.1)
            joints.append(builder.add_joint_ball(
                before, link, parent_xform=wp.transform(hung, wp.quat_identity()),
                child_xform=wp.transform((0.0, 0.0, half), wp.quat_identity()),
            ))  # fmt: skip
            before = link
        builder.add_articulation(joints)
        self.model, self.dt = builder.finalize(device="cpu"), dt
        if method == "XPBD":
            self.solver = newton.solvers.SolverXPBD(self.model, iterations=iterations)
        else:
            self.solver = newton.solvers.SolverFeatherstone(self.model, angular_damping=0.0)
        self.now, self.then = self.model.state(), self.model.state()
        self.control = self.model.control()
        self.label = f"Newton {newton.__version__} {method}"

    def step(self) -> None:
        """One step."""
        self.now.clear_forces()
        self.solver.step(self.now, self.then, self.control, None, self.dt)
        self.now, self.then = self.then, self.now

    def gap(self) -> float:
        """Largest gap of a joint (m), while the chain hangs straight down."""
        z = self.now.body_q.numpy()[:, 2]
        half = np.array([0.1] * worlds.LINKS + [0.2])
        top = np.concatenate([[0.0], z[:-1] - 0.1])
        return float(np.abs(z + half - top).max())
