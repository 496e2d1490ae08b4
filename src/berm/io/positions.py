"""Text of a scene file to data, with the line and column of every key and value.

PyYAML's node tree knows positions; tomllib does not, so a small walker finds them in a text that
tomllib has already accepted.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import Any

from berm.core.errors import InputError

Path = tuple[str | int, ...]
Place = tuple[int, int]  # line and column, from 1

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_AT = re.compile(r"\s*\(at line (\d+), column (\d+)\)")
# YAML 1.2 floats that the YAML 1.1 of PyYAML takes for text: 1e-3, 5.e3
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+$")


@dataclass
class Source:
    """Data of a file and where each part of it stands."""

    name: str
    data: Any = None
    keys: dict[Path, Place] = field(default_factory=dict)
    values: dict[Path, Place] = field(default_factory=dict)

    def place(self, path: Path, at_key: bool = False) -> Place:
        """Return line and column of the value (or its key) at `path`, or of what encloses it."""
        first, second = (self.keys, self.values) if at_key else (self.values, self.keys)
        for end in range(len(path), -1, -1):
            found = first.get(path[:end]) or second.get(path[:end])
            if found:
                return found
        return (1, 1)

    def where(self, path: Path, at_key: bool = False) -> str:
        """Return `file:line:column` of the value (or its key) at `path`."""
        line, column = self.place(path, at_key)
        return f"{self.name}:{line}:{column}"


# ---------------------------------------------------------------------- YAML


def read_yaml(text: str, name: str) -> Source:
    """Parse YAML; 1e-3 is a number, and a key given twice is an error."""
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """SafeLoader whose floats are those of YAML 1.2."""

    Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+.0123456789"))
    source = Source(name)
    loader = Loader(text)
    try:
        node = loader.get_single_node()
        if node is not None:
            _walk_yaml(node, (), source)
            source.data = loader.construct_document(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
        problem = getattr(error, "problem", None) or str(error)
        context = getattr(error, "context", None)
        what = f"{where}: not valid YAML: {problem}" + (f" {context}" if context else "")
        raise InputError(what) from error
    finally:
        loader.dispose()
    return source


def _walk_yaml(node: Any, path: Path, source: Source) -> None:
    source.values.setdefault(path, (node.start_mark.line + 1, node.start_mark.column + 1))
    if node.id == "sequence":
        for index, item in enumerate(node.value):
            _walk_yaml(item, (*path, index), source)
    elif node.id == "mapping":
        seen: dict[str, Place] = {}
        for key, value in node.value:
            place = (key.start_mark.line + 1, key.start_mark.column + 1)
            text = str(key.value)
            if text in seen and text != "<<":
                raise InputError(
                    f"{source.name}:{place[0]}:{place[1]}: key {text!r} is given twice "
                    f"(first in line {seen[text][0]})"
                )
            seen[text] = place
            source.keys.setdefault((*path, text), place)
            _walk_yaml(value, (*path, text), source)


# ---------------------------------------------------------------------- TOML


def read_toml(text: str, name: str) -> Source:
    """Parse TOML and find where its keys and values stand."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _AT.search(str(error))
        place = f"{name}:{found[1]}:{found[2]}" if found else name
        raise InputError(f"{place}: not valid TOML: {_AT.sub('', str(error))}") from error
    source = Source(name, data)
    _TomlWalker(text, source).walk()
    return source


class _TomlWalker:
    """Walks through valid TOML and notes positions; it checks nothing."""

    def __init__(self, text: str, source: Source) -> None:
        self.text, self.at, self.source = text, 0, source
        self.lists: dict[Path, int] = {}  # tables of arrays seen so far

    def walk(self) -> None:
        table: Path = ()
        self.source.values[()] = (1, 1)
        while self.skip():
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)

    def place(self) -> Place:
        before = self.text[: self.at]
        return before.count("\n") + 1, self.at - (before.rfind("\n") + 1) + 1

    def skip(self) -> bool:
        """Go past space and comments; return whether anything is left."""
        while self.at < len(self.text):
            if self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif self.text[self.at].isspace():
                self.at += 1
            else:
                return True
        return False

    def header(self) -> Path:
        """Note a [table] or a [[table of an array]] and return its path."""
        place = self.place()
        double = self.text.startswith("[[", self.at)
        self.at += 2 if double else 1
        keys = self.dotted()
        self.at = self.text.index("]", self.at) + (2 if double else 1)
        path: Path = ()
        for n, key in enumerate(keys):
            path = (*path, key)
            self.source.keys.setdefault(path, place)
            if double and n == len(keys) - 1:
                self.lists[path] = self.lists.get(path, -1) + 1
            if path in self.lists:
                path = (*path, self.lists[path])
        self.source.values[path] = place
        return path

    def dotted(self) -> list[str]:
        keys = []
        while True:
            self.skip()
            if self.text[self.at] in "\"'":
                keys.append(self.string())
            else:
                found = _BARE.match(self.text, self.at)
                assert found is not None
                keys.append(found[0])
                self.at = found.end()
            self.skip()
            if self.text[self.at] != ".":
                return keys
            self.at += 1

    def pair(self, table: Path) -> None:
        place = self.place()
        path = table
        for key in self.dotted():
            path = (*path, key)
            self.source.keys.setdefault(path, place)
        self.at = self.text.index("=", self.at) + 1
        self.value(path)

    def value(self, path: Path) -> None:
        self.skip()
        self.source.values[path] = self.place()
        first = self.text[self.at]
        if first in "\"'":
            self.string()
        elif first in "[{":
            self.at += 1
            index = 0
            while self.skip() and self.text[self.at] not in "]}":
                if self.text[self.at] == ",":
                    self.at += 1
                elif first == "[":
                    self.value((*path, index))
                    index += 1
                else:
                    self.pair(path)
            self.at += 1
        else:
            while self.at < len(self.text) and self.text[self.at] not in ",]}\n#":
                self.at += 1

    def string(self) -> str:
        quote = self.text[self.at]
        triple = quote * 3
        mark = triple if self.text.startswith(triple, self.at) else quote
        start = self.at + len(mark)
        end = start
        while not self.text.startswith(mark, end):
            end += 2 if quote == '"' and self.text[end] == "\\" else 1
        while len(mark) == 3 and self.text.startswith(mark, end + 1):
            end += 1  # quotes right before the closing ones
        self.at = end + len(mark)
        return self.text[start:end]
