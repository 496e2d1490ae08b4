"""What a world knows of its machines, which stand in a layer above: they act before each step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from berm.core.saved import Saved

if TYPE_CHECKING:
    from berm.world.world import World


class Acting(Protocol):
    """A machine: a name that no other has in its world, a step to prepare, and a state."""

    name: str
    kind: str

    def act(self, world: World) -> None:
        """Drive joints and bodies for the coming step."""

    def state(self) -> dict[str, Any]:
        """Everything that a restart needs beside bodies and joints."""

    def check(self, saved: Saved) -> None:
        """Refuse a state that is not one of this machine."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Put a state back."""
