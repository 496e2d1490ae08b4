"""A wheel loader by keys or game pad."""

from __future__ import annotations

from berm.core.inputs import Inputs
from berm.machines.machine import Machine

KEYS = (
    ("W or ↑", "drive ahead"),
    ("S or ↓", "drive back"),
    ("A or ←", "steer left"),
    ("D or →", "steer right"),
    ("Space", "brake"),
    ("R", "lift the boom"),
    ("F", "lower the boom"),
    ("Q", "roll the bucket back"),
    ("E", "dump the bucket"),
    ("left stick", "drive and steer"),
    ("right stick", "lift and tilt"),
)
STOPPED = 0.3  # m/s: the way can be changed below


def drive_loader(machine: Machine, inputs: Inputs) -> None:
    """Set the controls of a wheel loader from what is pressed; against its way, it brakes first."""
    ahead = _unit(inputs.axis(("KeyS", "ArrowDown"), ("KeyW", "ArrowUp")) - inputs.stick(1))
    speed = float(machine.sensors()["speed"])
    gear = float(ahead > 0.0) - float(ahead < 0.0)
    brake = max(float(inputs.down("Space")), inputs.button(0))
    if ahead * speed < 0.0 and abs(speed) > STOPPED:
        brake, ahead = max(brake, abs(ahead)), 0.0
    if ahead == 0.0 and abs(speed) < STOPPED:
        brake = max(brake, 0.5)  # nobody wants it to roll away
    machine.command(
        throttle=abs(ahead),
        gear=gear,
        brake=brake,
        steer=_unit(inputs.axis(("KeyD", "ArrowRight"), ("KeyA", "ArrowLeft")) - inputs.stick(0)),
        lift=_unit(inputs.axis("KeyF", "KeyR") - inputs.stick(3)),
        tilt=_unit(inputs.axis("KeyE", "KeyQ") - inputs.stick(2)),
    )


def _unit(value: float) -> float:
    return min(max(value, -1.0), 1.0)
