"""Inputs: the keys, axes and buttons with which a person steers a running world."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

DEAD = 0.12  # of a stick's way: worn sticks do not rest at zero


class Inputs:
    """What is pressed at this moment; a world has one, and its scene's `control` reads it.

    keys: codes as in a browser ("KeyW", "ArrowUp"); axes: -1 to 1, buttons: 0 to 1 of a game pad.
    by_hand: whether a person steers; a scene that can run alone follows its script until then.
    """

    def __init__(self) -> None:
        self.keys: frozenset[str] = frozenset()
        self.axes: tuple[float, ...] = ()
        self.buttons: tuple[float, ...] = ()
        self.by_hand = False

    def press(
        self,
        keys: Iterable[str] = (),
        axes: Iterable[float] = (),
        buttons: Iterable[float] = (),
    ) -> None:
        """Take all that is pressed now: what is not named is released."""
        self.keys = frozenset(keys)
        self.axes = tuple(_clip(value, -1.0) for value in axes)
        self.buttons = tuple(_clip(value, 0.0) for value in buttons)

    def release(self) -> None:
        """Let go of everything."""
        self.press()

    @property
    def any(self) -> bool:
        """Whether something is pressed or tilted."""
        tilted = any(abs(value) > DEAD for value in self.axes)
        return bool(self.keys) or tilted or any(value > DEAD for value in self.buttons)

    def down(self, *codes: str) -> bool:
        """Whether one of these keys is down."""
        return not self.keys.isdisjoint(codes)

    def axis(self, negative_key: str | Iterable[str], positive_key: str | Iterable[str]) -> float:
        """Return -1, 0 or 1 by two keys, or by two groups of keys that mean the same."""
        return float(self.down(*_group(positive_key))) - float(self.down(*_group(negative_key)))

    def stick(self, number: int) -> float:
        """Return an axis of the game pad, -1 to 1; 0 around its rest, and where there is none."""
        value = self.axes[number] if number < len(self.axes) else 0.0
        if abs(value) <= DEAD:
            return 0.0
        return math.copysign((abs(value) - DEAD) / (1.0 - DEAD), value)

    def button(self, number: int) -> float:
        """Return how far a button of the game pad is pressed, 0 to 1; 0 where there is none."""
        return self.buttons[number] if number < len(self.buttons) else 0.0

    def state(self) -> dict[str, Any]:
        """Everything that a restart needs."""
        return {
            "keys": sorted(self.keys),
            "axes": list(self.axes),
            "buttons": list(self.buttons),
            "by_hand": self.by_hand,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        self.press(state["keys"], state["axes"], state["buttons"])
        self.by_hand = bool(state["by_hand"])

    def __repr__(self) -> str:
        return f"Inputs(keys={sorted(self.keys)}, axes={self.axes}, buttons={self.buttons})"


def _group(keys: str | Iterable[str]) -> tuple[str, ...]:
    return (keys,) if isinstance(keys, str) else tuple(keys)


def _clip(value: float, low: float) -> float:
    return min(max(float(value), low), 1.0) if math.isfinite(value) else 0.0
