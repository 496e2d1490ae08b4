"""Machines by keys or game pad."""

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
EXCAVATOR_KEYS = (  # the levers of ISO 10968: left hand swing and stick, right hand boom and bucket
    ("A, D", "swing left, right"),
    ("W, S", "stick out, in"),
    ("↑, ↓", "boom down, up"),
    ("←, →", "curl, dump the bucket"),
    ("R, F", "left track ahead, back"),
    ("T, G", "right track ahead, back"),
    ("left stick", "swing and stick"),
    ("right stick", "boom and bucket"),
    ("triggers, buttons above", "tracks ahead, back"),
)
DOZER_KEYS = (
    ("W or ↑", "drive ahead"),
    ("S or ↓", "drive back"),
    ("A or ←", "steer left"),
    ("D or →", "steer right"),
    ("R, F", "lift, lower the blade"),
    ("Q, E", "tilt it left, right"),
    ("Z, C", "angle it left, right"),
    ("left stick", "drive and steer"),
    ("right stick", "lift and tilt"),
    ("triggers", "angle"),
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


def drive_excavator(machine: Machine, inputs: Inputs) -> None:
    """Set the controls of an excavator from what is pressed, its engine at full speed."""
    machine.command(
        throttle=1.0,
        swing=_unit(inputs.axis("KeyD", "KeyA") - inputs.stick(0)),
        stick=_unit(inputs.axis("KeyW", "KeyS") + inputs.stick(1)),
        boom=_unit(inputs.axis("ArrowUp", "ArrowDown") + inputs.stick(3)),
        bucket=_unit(inputs.axis("ArrowRight", "ArrowLeft") - inputs.stick(2)),
        left_track=_unit(inputs.axis("KeyF", "KeyR") + inputs.button(6) - inputs.button(4)),
        right_track=_unit(inputs.axis("KeyG", "KeyT") + inputs.button(7) - inputs.button(5)),
    )


def drive_dozer(machine: Machine, inputs: Inputs) -> None:
    """Set the controls of a bulldozer from what is pressed."""
    machine.command(
        drive=_unit(inputs.axis(("KeyS", "ArrowDown"), ("KeyW", "ArrowUp")) - inputs.stick(1)),
        steer=_unit(inputs.axis(("KeyD", "ArrowRight"), ("KeyA", "ArrowLeft")) - inputs.stick(0)),
        lift=_unit(inputs.axis("KeyF", "KeyR") + inputs.stick(3)),
        tilt=_unit(inputs.axis("KeyE", "KeyQ") - inputs.stick(2)),
        angle=_unit(inputs.axis("KeyC", "KeyZ") + inputs.button(6) - inputs.button(7)),
    )


def _unit(value: float) -> float:
    return min(max(value, -1.0), 1.0)
