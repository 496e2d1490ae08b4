"""A paddle wheel that falling grains turn: rigid coupling, [Holz14] Fig. 4."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import Field

from berm.core.joints import Hinge
from berm.core.report import StepReport
from berm.core.shapes import Box, Mesh
from berm.scenes.base import SCENES, Outcome, Scene
from berm.scenes.parts.history import History
from berm.scenes.parts.params import STEEPER, GrainParams, inherited
from berm.world.emitters import Emitter, Sink
from berm.world.world import World

GRAVITY = 9.81  # m/s^2
HUB = 0.25  # radius of the hub, of the wheel's
THIN = 0.07  # thickness of a paddle, of the wheel's radius
BLUNT = 0.7  # thickness of a paddle's tip, of its foot
FALL = 0.5  # height of the spout above the wheel, in its radii
OFF = 0.6  # the stream falls so far beside the axle, in radii


class WheelParams(GrainParams):
    """Parameters of the wheel and the stream."""

    friction: float | None = inherited(GrainParams, "friction", 0.3, STEEPER)
    radius: float = inherited(GrainParams, "radius", 0.011)
    wheel: float = Field(0.25, gt=0.0, le=10.0, description="radius of the wheel (m)")
    width: float = Field(0.16, gt=0.0, le=10.0, description="width of the wheel (m)")
    paddles: int = Field(8, ge=3, le=40, description="number of paddles")
    wheel_density: float = Field(700.0, gt=0.0, le=2.0e4, description="of the wheel (kg/m^3)")
    brake: float = Field(2.0, ge=0.0, le=1.0e4, description="torque that brakes the axle (N m)")
    rate: float = Field(600.0, ge=0.0, le=1.0e5, description="grains a second")
    pouring: float = Field(5.0, gt=0.0, le=1.0e4, description="time for which grains pour (s)")


@SCENES.register("wheel")
class Wheel(Scene[WheelParams]):
    """Grains fall on one side of a paddle wheel on an axle with a brake, and turn it."""

    name: ClassVar[str] = "wheel"
    summary: ClassVar[str] = "falling grains turn a paddle wheel on a hinge"
    seconds: ClassVar[float] = 5.0
    Params: ClassVar[type[WheelParams]] = WheelParams
    needs: ClassVar[frozenset[str]] = frozenset({"grains", "bodies", "joints"})

    def duration(self, params: WheelParams) -> float:
        """As long as grains pour."""
        return params.pouring

    def fill(self, world: World, params: WheelParams) -> None:
        """Add the wheel at rest under the spout, between two smooth plates."""
        law = params.soil(world)
        wheel = world.add_body(
            paddle_wheel(params.wheel, params.width, params.paddles), name="wheel",
            material=law.replace(name="wood", adhesion=0.0), dynamic=True,
            density=params.wheel_density,
        )  # fmt: skip
        world.add_joint(Hinge(wheel, None, (0.0, 0.0, 0.0), axis=(0.0, 1.0, 0.0), name="axle",
                              motor=(0.0, params.brake) if params.brake > 0 else None))  # fmt: skip
        thick = 0.02
        smooth = law.replace(name="smooth plate", friction=0.0, adhesion=0.0)
        half = 0.5 * params.width + 0.2 * params.radius
        for name, side in (("front", -1.0), ("back", 1.0)):
            world.add_body(
                Box((3.0 * params.wheel, thick, 4.0 * params.wheel)), name=name, material=smooth,
                position=(0.0, side * (half + 0.5 * thick), 0.1 * params.wheel),
            )  # fmt: skip
        world.add_emitter(
            Emitter(
                params.rate, (OFF * params.wheel, 0.0, (1.0 + FALL) * params.wheel), "box",
                (0.3 * params.wheel, 0.8 * params.width, 0.1 * params.wheel), radius=params.radii,
                velocity=(0.0, 0.0, -0.5), material=law, stop=params.pouring,
            )
        )  # fmt: skip
        below = -1.8 * params.wheel
        world.add_sink(Sink((-np.inf, -np.inf, -np.inf), (np.inf, np.inf, below)))

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """Angle (rad), speed (rad/s), torques of grains and axle (N m), energy (J), poured (kg)."""
        wheel, axle = world.body("wheel"), world.joints[0]
        return {
            "angle": axle.position,
            "speed": float(wheel.angular_velocity[1]),
            "torque": float(wheel.torque_from("grains")[1]),
            "braking": float(axle.torque[1]),
            "energy": wheel.kinetic_energy,
            "off_axle": float(np.linalg.norm(wheel.position)),
            "poured": world.mass_added,
        }

    def check(self, world: World, history: History) -> list[Outcome]:
        """It turns with the stream; torque is I alpha; it takes less than the grains lose."""
        params: WheelParams = history.params
        inertia = float(world.body("wheel").inertia[1, 1])
        speed, torque, braking = (history[name] for name in ("speed", "torque", "braking"))
        given = float((torque + braking).sum()) * params.dt
        spin = inertia * float(speed[-1])
        scale = float(np.abs(torque).sum()) * params.dt
        work = float((torque * (speed + np.concatenate([[0.0], speed[:-1]])) / 2).sum()) * params.dt
        drop = (2.0 + FALL + 0.05) * params.wheel  # from the spout to below the wheel
        lost = float(history["poured"][-1]) * (GRAVITY * drop + 0.5 * 0.5**2)
        turned = float(history["angle"][-1])
        late = history.last("torque", 0.5 * params.pouring)
        return [
            Outcome("turns with the stream", turned > 1.0, turned, "above 1", "rad"),
            Outcome("mean torque of the grains", bool(late.mean() > 0), float(late.mean()),
                    "above 0, finite", "N m"),
            Outcome("spin gained - torque x time", abs(spin - given) < 0.01 * scale, spin - given,
                    f"0 +- 1 % of {scale:.3g}", "N m s"),
            Outcome("work on the wheel / energy the grains can lose", 0.0 < work <= lost,
                    work / lost if lost > 0 else math.nan, "above 0, at most 1"),
            Outcome("axle stays in place", float(history["off_axle"].max()) < 1e-4,
                    float(history["off_axle"].max()), "below 1e-4", "m"),
        ]  # fmt: skip


def paddle_wheel(radius: float, width: float, paddles: int) -> Mesh:
    """Return a wheel about y: a hub with flat paddles, closed (m)."""
    hub, foot = HUB * radius, 0.5 * THIN * radius
    spread = math.asin(min(foot / hub, 0.8 * math.sin(math.pi / paddles)))
    foot = hub * math.sin(spread)
    ring = []  # per paddle: foot, tip, tip, foot, counter-clockwise seen along -y
    for k in range(paddles):
        turn = 2 * math.pi * k / paddles
        c, s = math.cos(turn), math.sin(turn)
        near, tip = hub * math.cos(spread), BLUNT * foot
        for along, across in ((near, -foot), (radius, -tip), (radius, tip), (near, foot)):
            ring.append((along * c - across * s, along * s + across * c))
    flat = np.array([*ring, (0.0, 0.0)])
    n, middle = len(ring), len(ring)
    cap = []
    for k in range(0, n, 4):
        cap += [(k, k + 1, k + 2), (k, k + 2, k + 3), (middle, k, k + 3)]
        cap.append((middle, k + 3, (k + 4) % n))
    front = np.array(cap)
    here = np.arange(n)
    there = (here + 1) % n
    total = n + 1
    side = np.vstack([
        np.column_stack([here, here + total, there]),
        np.column_stack([there, here + total, there + total]),
    ])  # fmt: skip
    low = np.column_stack([flat[:, 0], np.full(total, -0.5 * width), flat[:, 1]])
    vertices = np.vstack([low, low + np.array([0.0, width, 0.0])])
    return Mesh(vertices, np.vstack([front, front[:, ::-1] + total, side]), name="paddle wheel")
