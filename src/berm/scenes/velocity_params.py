"""Parameters of scenes with the solvers of Francu 2014."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from berm.scenes.params import SceneParams
from berm.solvers.vts.solver import VTS
from berm.solvers.vts.sp import SP


class VelocityParams(SceneParams):
    """Solver, iteration and friction of [Francu14]."""

    solver: Literal["sp", "pbd", "vts"] = Field(  # type: ignore[assignment]
        "sp",
        description="sp: sequential positions; pbd: positions only, friction afterwards; "
        "vts: velocity time stepping",
    )
    iteration: Literal["gs", "jacobi", "split", "ij", "mr", "cr"] = Field(
        "gs",
        description="gs: Gauss-Seidel; jacobi; split: with split masses; ij: improved Jacobi; "
        "mr, cr: minimum and conjugate residuals",
    )
    friction: float = Field(0.5, ge=0.0, le=10.0, description="friction coefficient")

    def make_solver(self) -> VTS:
        """Return a new solver with these options."""
        changes: dict[str, Any] = {"iteration": self.iteration}
        for name in ("iterations", "substeps"):
            if getattr(self, name) is not None:
                changes[name] = getattr(self, name)
        if self.solver == "vts":
            return VTS(**changes)
        return SP(**changes) if self.solver == "sp" else SP.pbd(**changes)
