"""Push soil by hand: a blade that keys or a game pad drive, and a script when nobody is there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from berm.core.inputs import Inputs
from berm.core.motion import Steered, rotation_about
from berm.core.report import StepReport
from berm.core.shapes import Box
from berm.scenes.base import SCENES, Outcome, Scene
from berm.scenes.parts.history import History
from berm.scenes.parts.params import GrainParams, inherited
from berm.world.packings import lattice
from berm.world.world import World

Array = npt.NDArray[np.float64]
THICK = 0.04  # m, of the blade
START = 0.3  # m, place of the blade at the start
RAISE = 1.0  # s, for which the script lifts the blade in the end
REST = 0.5  # s, after it
FILL = 0.62  # packing fraction from which the number of grains is estimated
REACH = 4.0  # m/s^2, and rad/s^2: how quickly the blade follows


class BladeParams(GrainParams):
    """Parameters of the bed and the blade."""

    friction: float | None = inherited(GrainParams, "friction", 0.4)
    length: float = Field(2.2, ge=1.0, le=100.0, description="length of the bed (m)")
    width: float = Field(1.3, ge=0.6, le=100.0, description="width of the bed (m)")
    depth: float = Field(0.11, ge=0.04, le=10.0, description="depth of the bed (m), about")
    radius: float = inherited(GrainParams, "radius", 0.022)
    blade: float = Field(0.5, ge=0.1, le=50.0, description="width of the blade (m)")
    height: float = Field(0.3, ge=0.05, le=10.0, description="height of the blade (m)")
    rake: float = Field(15.0, ge=-30.0, le=60.0, description="the blade leans back by (degrees)")
    cut: float = Field(0.06, ge=0.0, le=10.0, description="depth of the cut at the start (m)")
    speed: float = Field(0.5, ge=0.0, le=5.0, description="speed at full key or stick (m/s)")
    turning: float = Field(60.0, ge=0.0, le=360.0, description="turning speed (degrees/s)")
    lifting: float = Field(0.25, ge=0.0, le=5.0, description="speed up and down (m/s)")
    push: float = Field(1.1, ge=0.1, le=100.0, description="way of the push by script (m)")
    settle: float = Field(0.5, ge=0.0, le=100.0, description="time before the script starts (s)")

    @property
    def pushing(self) -> float:
        """Time (s) that the script's push takes."""
        return self.push / max(self.speed, 1e-3)


@SCENES.register("blade")
class Blade(Scene[BladeParams]):
    """A bed of soil and a blade that goes where it is steered."""

    name: ClassVar[str] = "blade"
    summary: ClassVar[str] = "push soil with a blade by keys or game pad (berm view blade)"
    seconds: ClassVar[float] = 4.2
    Params: ClassVar[type[BladeParams]] = BladeParams
    live: ClassVar[tuple[str, ...]] = ("speed", "turning", "lifting")
    keys: ClassVar[tuple[tuple[str, str], ...]] = (
        ("W or ↑", "push ahead"),
        ("S or ↓", "go back"),
        ("A or ←", "turn left"),
        ("D or →", "turn right"),
        ("E", "lift the blade"),
        ("Q", "lower the blade"),
        ("left stick", "drive and turn"),
        ("right stick", "lift and lower"),
    )

    def duration(self, params: BladeParams) -> float:
        """Settle, push, lift, and rest."""
        return round(params.settle + params.pushing + RAISE + REST, 1)

    def fill(self, world: World, params: BladeParams) -> None:
        """Add a level bed with the blade in its near end."""
        walls = 1.5 * params.depth + 0.5 * params.height  # as they are drawn: they have no top
        world.add_body(
            Box((params.length, params.width, walls), inside=True, open_top=True),
            name="bed",
            material="rough wall",
            position=(params.length / 2, 0.0, walls / 2),
        )
        turn = rotation_about((0.0, 1.0, 0.0), -math.radians(params.rake))
        size = np.array([THICK, params.blade, params.height])
        edge = max(params.depth - params.cut, params.radius)
        middle = np.array([START, 0.0, edge + params.height / 2])
        place, radii = _bed(params)
        # no grain starts in the blade
        free = (np.abs((place - middle) @ turn) - 0.5 * size > radii[:, None]).any(axis=1)
        count = int(
            FILL * params.depth * params.length * params.width
            / (4 / 3 * math.pi * params.radius**3)
        )  # fmt: skip
        chosen = np.flatnonzero(free)[np.argsort(place[free, 2], kind="stable")[:count]]
        world.add_grains(place[chosen], radii[chosen], material=params.soil(world))
        room = 0.6 * params.blade  # from the middle of the blade to the walls, however it turns
        side = max(params.width / 2 - room, 0.0)
        world.add_body(
            Box(tuple(size)),
            name="blade",
            material="steel",
            position=middle,
            rotation=turn,
            motion=Steered(
                acceleration=REACH,
                turning=REACH,
                low=(min(room - START, 0.0), -side, params.radius - edge),
                high=(max(params.length - room - START, 0.0), side, params.height),
            ),
        )
        self.drive(world, params)

    def control(self, world: World, params: BladeParams) -> None:
        """Steer the blade by keys or sticks; until a person does, by the script."""
        inputs = world.inputs
        if not inputs.by_hand:
            inputs.press(script(world.time, params))
        ahead, left, up = wishes(inputs)
        motion = world.body("blade").motion
        assert isinstance(motion, Steered)
        heading = motion.pose(world.time)[1][:, 0]
        velocity = params.speed * ahead * heading + np.array([0.0, 0.0, params.lifting * up])
        motion.steer(world.time, velocity.tolist(), (0.0, 0.0, math.radians(params.turning) * left))

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """Resistance (N), place of the blade (m), the grains' centre and the blade's edge (m)."""
        blade = world.body("blade")
        return {
            "resistance": -float(blade.force[0]),
            "blade": float(blade.position[0]),
            "edge": float(blade.position[2]),
            "centre": float(world.grains.position[:, 0].mean(dtype=np.float64)),
        }

    def check(self, world: World, history: History) -> list[Outcome]:
        """The blade went its way, soil went with it, resisted, and none of it was lost."""
        params: BladeParams = history.params
        time, place = history["time"], history["blade"]
        driving = (time > params.settle + 0.3) & (time < params.settle + params.pushing)
        resistance = history["resistance"]
        force = float(resistance[driving].mean()) if driving.any() else math.nan
        free = history.last("resistance", 0.5 * REST)
        moved = float(history["centre"][-1] - history["centre"][0])
        way = float(place[-1] - place[0])
        where, half = world.grains.position, params.width / 2
        slack = 0.5 * params.radius
        lost = (np.abs(where[:, 1]) > half + slack) | (where[:, 2] < -slack)
        lost |= (where[:, 0] < -slack) | (where[:, 0] > params.length + slack)
        out = int(lost.sum()) + abs(int(world.grains.next_tag) - world.grains.n)
        return [
            Outcome("way of the blade", abs(way / params.push - 1) < 0.1, way,
                    f"{params.push:g} +- 10 %", "m"),
            Outcome("the soil's centre moved ahead", moved > 0.01 * params.push, moved,
                    f"above {0.01 * params.push:g}", "m"),
            Outcome("soil resists the blade", force > 0, force, "above 0", "N"),
            Outcome("resistance after lifting", bool(abs(free.mean()) < 0.1 * force),
                    float(free.mean()), "below a tenth of it", "N"),
            Outcome("grains lost", out == 0, out, "0"),
        ]  # fmt: skip


def script(t: float, params: BladeParams) -> tuple[str, ...]:
    """Return the keys that are pressed at time t (s) when no person steers."""
    since = t - params.settle
    if 0.0 <= since < params.pushing:
        return ("ArrowUp",)
    return ("KeyE",) if params.pushing <= since < params.pushing + RAISE else ()


def wishes(inputs: Inputs) -> tuple[float, float, float]:
    """Return how much a person wants the blade to go ahead, to turn left and to rise, -1 to 1."""
    # sticks count downwards and to the right
    ahead = inputs.axis(("KeyS", "ArrowDown"), ("KeyW", "ArrowUp")) - inputs.stick(1)
    left = inputs.axis(("KeyD", "ArrowRight"), ("KeyA", "ArrowLeft")) - inputs.stick(0)
    up = inputs.axis("KeyQ", "KeyE") - inputs.stick(3)
    return _unit(ahead), _unit(left), _unit(up)


def _unit(value: float) -> float:
    return min(max(value, -1.0), 1.0)


def _bed(params: BladeParams) -> tuple[Array, Array]:
    """Return places (n, 3) and radii (m) of more grains than the bed needs."""
    large = params.radii[1]
    half = params.width / 2
    return lattice(
        (0.0, -half, 0.0), (params.length, half, 2.5 * params.depth + 4 * large),
        (2 * params.radius - large, large), 0.02, params.seed, "hexagonal",
    )  # fmt: skip
