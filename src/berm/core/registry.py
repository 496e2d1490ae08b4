"""Names that users type, mapped to the things that registered themselves under them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from berm.core.errors import InputError

T = TypeVar("T")


class Registry(Generic[T]):
    """An ordered map from names to things; an unknown name lists the known ones."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._items: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that files its argument under `name`."""

        def file_it(item: T) -> T:
            if name in self._items:
                raise InputError(f"{self.kind} name registered twice", name, "a new name")
            self._items[name] = item
            return item

        return file_it

    def get(self, name: str) -> T:
        """Return the thing called `name`, or say which names there are."""
        if name not in self._items:
            near = difflib.get_close_matches(str(name), self._items, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise InputError(f"unknown {self.kind}", name, ", ".join(sorted(self._items)) + hint)
        return self._items[name]

    def names(self) -> list[str]:
        """Return all names in alphabetical order."""
        return sorted(self._items)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self._items
