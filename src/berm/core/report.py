"""What a step tells about itself."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class StepReport:
    """Outcome of one step: counts, errors, energy and where the time went."""

    step: int = 0
    time: float = 0.0  # s, at the end of the step
    grains: int = 0
    contacts: int = 0  # touching pairs
    wall_contacts: int = 0
    iterations: int = 0
    substeps: int = 0
    overlap_mean: float = 0.0  # m, over touching pairs
    give: float = 0.0  # radii, by which contacts give way as sweeps do not converge; p2
    overlap_max: float = 0.0  # m, walls included
    overlap_share: float = 0.0  # of two bodies, of the smaller one's size; soft ones do not count
    residual: float = 0.0  # largest displacement of a grain or vertex in the last substep, m
    kinetic_energy: float = 0.0  # J, of grains, bodies and cloth
    rebuilt: int = 0  # times that the neighbour list was rebuilt
    body_contacts: int = 0  # between bodies
    factorisations: int = 0  # of direct solves
    fallbacks: int = 0  # direct solves that did not converge, answered by sweeps
    merged: int = 0  # bodies that are part of a super-body
    merge_loss: float = 0.0  # J, kinetic energy that merging has taken since the start
    timings: dict[str, float] = field(default_factory=dict)  # s, by stage

    @property
    def wall_time(self) -> float:
        """Seconds that the step took."""
        return sum(self.timings.values())
