"""A plank on a pivot that grains tilt until weights slide down: rigid coupling, [Holz14] Fig. 4."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import Field

from berm.core.bodies import Body
from berm.core.joints import Hinge
from berm.core.report import StepReport
from berm.core.shapes import Box, Plane
from berm.scenes.base import SCENES, Outcome, Scene
from berm.scenes.parts.history import History
from berm.scenes.parts.params import STEEPER, GrainParams, inherited
from berm.world.emitters import Emitter
from berm.world.world import World

GRAVITY = 9.81  # m/s^2
PLACES = (-0.35, -0.65)  # of the weights on the plank, in half lengths
POUR = 0.65  # where grains fall, in half lengths
MOVED = 0.003  # m along the plank: a weight that has gone so far slides


class PlankParams(GrainParams):
    """Parameters of the plank, the weights and the stream."""

    friction: float | None = inherited(GrainParams, "friction", 0.4, STEEPER)
    radius: float = inherited(GrainParams, "radius", 0.013)
    length: float = Field(1.4, gt=0.1, le=100.0, description="length of the plank (m)")
    width: float = Field(0.3, gt=0.02, le=100.0, description="width of the plank (m)")
    thick: float = Field(0.04, gt=0.001, le=10.0, description="thickness of the plank (m)")
    height: float = Field(0.5, gt=0.05, le=100.0, description="height of the pivot (m)")
    steepest: float = Field(30.0, gt=1.0, le=80.0, description="the plank tilts so far (degrees)")
    weight: float = Field(4.0, gt=0.0, le=1.0e5, description="mass of each of two weights (kg)")
    slip: float = Field(0.3, ge=0.0, le=5.0, description="friction of the weights on the plank")
    rate: float = Field(250.0, ge=0.0, le=1.0e5, description="grains a second")
    pouring: float = Field(4.0, gt=0.0, le=1.0e4, description="time for which grains pour (s)")


@SCENES.register("plank")
class Plank(Scene[PlankParams]):
    """Two weights hold one side of a plank down to its stop; grains pour on the other."""

    name: ClassVar[str] = "plank"
    summary: ClassVar[str] = "grains tilt a hinged plank until weights slide down"
    seconds: ClassVar[float] = 6.0
    Params: ClassVar[type[PlankParams]] = PlankParams
    needs: ClassVar[frozenset[str]] = frozenset({"grains", "bodies", "joints"})

    def duration(self, params: PlankParams) -> float:
        """Pour, and two seconds more."""
        return params.pouring + 2.0

    def fill(self, world: World, params: PlankParams) -> None:
        """Add plank and weights at rest, and the spout."""
        law = params.soil(world)
        wood = law.replace(name="wood", adhesion=0.0, density=700.0, restitution=0.05)
        brass = wood.replace(name="brass", friction=params.slip)
        world.add_body(Plane(), name="floor", material=wood)
        top = params.height
        world.add_body(
            Box((0.05, 1.2 * params.width, top - params.thick)), name="stand", material="steel",
            position=(0.0, 0.0, 0.5 * (top - params.thick) - 0.1 * params.thick),
        )  # fmt: skip
        plank = world.add_body(
            Box((params.length, params.width, params.thick)), name="plank", material=wood,
            position=(0.0, 0.0, top), dynamic=True,
        )  # fmt: skip
        world.add_joint(
            Hinge(
                plank, None, (0.0, 0.0, top), axis=(0.0, 1.0, 0.0), name="pivot",
                limits=(0.0, math.radians(params.steepest)),
            )
        )  # fmt: skip
        edge = 0.4 * params.width
        for k, place in enumerate(PLACES):
            world.add_body(
                Box((edge, edge, 0.6 * edge)), name=f"weight {k + 1}", material=brass, dynamic=True,
                mass=params.weight,
                position=(0.5 * place * params.length, 0.0, top + 0.5 * params.thick + 0.3 * edge),
            )  # fmt: skip
        world.add_emitter(
            Emitter(
                params.rate, (0.5 * POUR * params.length, 0.0, top + 0.4), "disc",
                (0.3 * params.width, 0.08), radius=params.radii, velocity=(0.0, 0.0, -0.5),
                material=law, stop=params.pouring,
            )
        )  # fmt: skip

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """Angle (rad), torque of grains (N m), grains on it (kg), and the weights' ways (m)."""
        plank = world.body("plank")
        grains = world.grains
        local = (grains.position.astype(float) - plank.position) @ plank.rotation
        half = 0.5 * np.array(plank.shape.size)
        on = (np.abs(local[:, :2]) < half[:2]).all(axis=1) & (local[:, 2] > 0)
        ways = {
            f"way {k + 1}": way(world.body(f"weight {k + 1}"), plank) for k in range(len(PLACES))
        }
        return {
            "angle": world.joints[0].position,
            "torque": float(plank.torque_from("grains")[1]),
            "load": float(grains.mass[on[: grains.n]].sum()) if grains.n else 0.0,
            "off_pivot": float(np.linalg.norm(plank.position - plank.start_position)),
            "rise": float(np.min([world.body(f"weight {k + 1}").position[2] for k in range(2)])),
            **ways,
        }

    def check(self, world: World, history: History) -> list[Outcome]:
        """It tilts to the grains once they outweigh the weights, and these slide when they must."""
        params: PlankParams = history.params
        angle, time = history["angle"], history["time"]
        arms = sum(-0.5 * place * params.length for place in PLACES)
        needed = params.weight * GRAVITY * arms
        tilting = int(np.argmax(angle > math.radians(0.2)))
        tilts = bool(angle.max() > math.radians(0.2))
        # the mean over some steps around it: single grains knock
        torque = float(history["torque"][max(tilting - 10, 0) : tilting + 5].mean())
        out = [
            Outcome("tilts to the side of the grains", tilts, math.degrees(float(angle.max())),
                    f"up to {params.steepest:g}", "degrees"),
            Outcome("torque of the grains when it leaves its stop", abs(torque / needed - 1) < 0.15,
                    torque, f"{needed:.3g} +- 15 %, that of the weights", "N m"),
            Outcome("stays on its pivot", float(history["off_pivot"].max()) < 1e-3,
                    float(history["off_pivot"].max()), "below 1e-3", "m"),
        ]  # fmt: skip
        friction = min(params.slip, params.soil(world).friction_static)
        limit = math.degrees(math.atan(friction))
        for k in range(len(PLACES)):
            ways = history[f"way {k + 1}"]
            slides = bool((ways > MOVED).any())
            first = int(np.argmax(ways > MOVED)) if slides else -1
            begun = math.degrees(float(angle[first]))
            out.append(
                Outcome(f"weight {k + 1} slides only when it must",
                        slides and begun > 0.95 * limit, begun,
                        f"angle above {limit:.3g} - 5 %", "degrees")
            )  # fmt: skip
        low = math.degrees(float(angle[time <= 0.2].max(initial=0.0)))
        out.append(Outcome("rests on its stop before grains come", low < 0.05, low, "0", "degrees"))
        return out


def way(weight: Body, plank: Body) -> float:
    """How far (m) a weight has gone along the plank, towards the grains."""
    begin = (weight.start_position - plank.start_position) @ plank.start_rotation[:, 0]
    return float((weight.position - plank.position) @ plank.rotation[:, 0] - begin)
