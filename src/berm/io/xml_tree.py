"""XML as a tree of elements that know their line; no entities, and nothing is fetched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

import numpy as np
import numpy.typing as npt

from berm.core.errors import InputError

Array = npt.NDArray[np.float64]


@dataclass
class Node:
    """An element: its attributes, the elements within it, and file:line."""

    tag: str
    attributes: dict[str, str]
    where: str
    children: list[Node] = field(default_factory=list)

    def child(self, tag: str) -> Node | None:
        """Return the first element within of this name, if there is one."""
        return next((node for node in self.children if node.tag == tag), None)

    def text(self, key: str, default: str | None = None) -> str:
        """Return an attribute."""
        value = self.attributes.get(key, default)
        if not value:
            raise InputError(f"{self.where}: <{self.tag}>", allowed=f'an attribute {key}="..."')
        return value

    def number(self, key: str, what: str, default: float | None = None) -> float:
        """Return an attribute that is one finite number."""
        if key not in self.attributes and default is not None:
            return default
        return float(self._numbers(key, what, 1)[0])

    def vector(self, key: str, what: str, default: Sequence[float] | None = None) -> Array:
        """Return an attribute that is three finite numbers."""
        if key not in self.attributes and default is not None:
            return np.array(default)
        return np.array(self._numbers(key, what, 3))

    def _numbers(self, key: str, what: str, count: int) -> list[float]:
        text = self.text(key)
        try:
            values = [float(word) for word in text.split()]
        except ValueError:
            values = []
        if len(values) != count or not all(math.isfinite(value) for value in values):
            allowed = "a finite number" if count == 1 else f"{count} finite numbers"
            raise InputError(f"{self.where}: {what}: <{self.tag} {key}=...>", text, allowed)
        return values


def read_xml(path: Path, what: str) -> Node:
    """Return the outermost element of a file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(what, str(path), "a readable file", str(error)) from error
    top = Node("", {}, f"{path}:1")
    open_nodes = [top]
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        node = Node(tag, attributes, f"{path}:{parser.CurrentLineNumber}")
        open_nodes[-1].children.append(node)
        open_nodes.append(node)

    def end(_tag: str) -> None:
        open_nodes.pop()

    def refuse(*_: object) -> None:
        # entities may grow without end and name other files: none of it has a use here
        raise InputError(
            f"{path}:{parser.CurrentLineNumber}: {what}", "<!DOCTYPE ...>", "XML without it"
        )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        place, why = f"{error.lineno}:{error.offset + 1}", expat.ErrorString(error.code)
        raise InputError(f"{path}:{place}: not valid XML: {why}") from error
    except LookupError as error:
        raise InputError(what, str(path), "XML in UTF-8", str(error)) from error
    return top.children[0]
