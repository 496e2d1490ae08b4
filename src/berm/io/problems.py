"""What is wrong with a scene file: every problem at once, each with its line and a remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from berm.core.errors import InputError
from berm.io.positions import Path, Source

_BOUNDS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "from"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}
_TYPES = {"number": "a number", "integer": "a whole number", "string": "text", "array": "a list",
          "boolean": "true or false", "object": "a map of keys and values"}  # fmt: skip


class SceneFileError(InputError):
    """A scene file with problems; `problems` lists them as "file:line:column: path: what"."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = list(problems)
        count = len(self.problems)
        head = f"{count} problems in the scene file:\n" if count > 1 else ""
        super().__init__(head + "\n".join(self.problems))


class Problems:
    """Collects problems of one source."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.found: list[tuple[tuple[int, int], str]] = []

    def add(self, path: Path, text: str, at_key: bool = False) -> None:
        """Note a problem at a path of the file."""
        label = path_text(path)
        where = self.source.where(path, at_key)
        line = f"{where}: {label}: {text}" if label else f"{where}: {text}"
        self.found.append((self.source.place(path, at_key), line))

    @contextmanager
    def at(self, *path: str | int) -> Iterator[None]:
        """Note an InputError from inside as a problem at this path, and go on."""
        try:
            yield
        except InputError as error:
            self.add(path, str(error))

    def add_validation(self, error: ValidationError, model: type[BaseModel]) -> None:
        """Note all that pydantic found."""
        schema = model.model_json_schema()
        for detail in error.errors():
            path = _true_path(detail, self.source.data)
            text, at_key = _explain(detail, schema)
            self.add(path, text, at_key)

    def stop_if_any(self) -> None:
        """Raise if there is a problem, with all of them in the order of the file."""
        if self.found:
            lines = [line for _, line in sorted(self.found, key=lambda item: item[0])]
            raise SceneFileError(dict.fromkeys(lines))


def near(word: object, known: Iterable[str]) -> str:
    """Return ` (did you mean ...?)` for the known name nearest to `word`, if one is near."""
    close = difflib.get_close_matches(str(word), list(known), n=1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""


def path_text(path: Path) -> str:
    """Return a path as one would write it: bodies[0].shape.size[1]."""
    out = ""
    for part in path:
        out += f"[{part}]" if isinstance(part, int) else f".{part}" if out else str(part)
    return out


def show(value: Any) -> str:
    """Return a value, shortened, as a message shows it."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _true_path(detail: ErrorDetails, data: Any) -> Path:
    """Return the path in the file: pydantic's, without the tags of unions."""
    path: list[int | str] = []
    loc = detail["loc"]
    for n, part in enumerate(loc):
        if isinstance(data, dict) and part in data:
            data = data[part]
        elif isinstance(data, list) and isinstance(part, int):
            data = data[part] if part < len(data) else None
        elif not (detail["type"] == "missing" and n == len(loc) - 1):
            continue
        path.append(part)
    if detail["type"] == "union_tag_invalid":
        path.append(str(detail["ctx"]["discriminator"]).strip("'"))
    return tuple(path)


def _explain(detail: ErrorDetails, schema: dict[str, Any]) -> tuple[str, bool]:
    """Return a sentence, and whether it is about the key rather than its value."""
    kind, context = detail["type"], detail.get("ctx", {})
    got = f"got {show(detail['input'])}"
    if kind == "missing":
        about = _schema_at(schema, detail["loc"])
        needed = _describe(about)
        return "is missing" + (f"; allowed: {needed}" if needed else ""), False
    if kind == "extra_forbidden":
        known = list(_schema_at(schema, detail["loc"][:-1]).get("properties", {}))
        return f"unknown key; allowed: {', '.join(known)}{near(detail['loc'][-1], known)}", True
    if kind == "union_tag_invalid":
        tags = [tag.strip().strip("'") for tag in str(context["expected_tags"]).split(",")]
        tag = context["tag"]
        return f"got {show(tag)}; allowed: {', '.join(tags)}{near(tag, tags)}", False
    if kind == "union_tag_not_found":
        key = str(context["discriminator"]).strip("'")
        tags = list(_schema_at(schema, detail["loc"]).get("discriminator", {}).get("mapping", {}))
        return f"{key} is missing; allowed: {', '.join(tags)}", False
    if kind in _BOUNDS:
        name, word = _BOUNDS[kind]
        allowed = _describe(_schema_at(schema, detail["loc"])) or f"{word} {context[name]:g}"
        return f"{got}; allowed: {allowed}", False
    if kind == "literal_error":
        allowed = str(context["expected"])
        known = [word.strip().strip("'") for word in allowed.replace(" or ", ",").split(",")]
        return f"{got}; allowed: {', '.join(known)}{near(detail['input'], known)}", False
    if kind == "value_error":
        return f"{got}; allowed: {context['error']}", False
    if kind in ("too_short", "too_long"):
        return f"{got}; allowed: {detail['msg'].split(' should ', 1)[-1]}", False
    allowed = _describe(_schema_at(schema, detail["loc"]))
    if not allowed:
        allowed = detail["msg"].removeprefix("Input should be ").lower()
    return f"{got}; allowed: {allowed}", False


def _describe(schema: dict[str, Any]) -> str:
    """Return in words what a JSON schema allows."""
    if "enum" in schema or "const" in schema:
        return ", ".join(str(v) for v in schema.get("enum", [schema.get("const")]))
    if "mapping" in schema.get("discriminator", {}):
        kinds = ", ".join(schema["discriminator"]["mapping"])
        return f"a map with {schema['discriminator']['propertyName']}: {kinds}"
    out = _TYPES.get(schema.get("type", ""), "")
    if schema.get("minItems") and schema.get("minItems") == schema.get("maxItems"):
        out = f"a list of {schema['minItems']}"
    for key, word in (
        ("exclusiveMinimum", "above"),
        ("minimum", "from"),
        ("exclusiveMaximum", "below"),
        ("maximum", "at most"),
    ):
        if key in schema:
            out += f" {word} {schema[key]:g}"
    return out


def _schema_at(schema: dict[str, Any], loc: tuple[int | str, ...]) -> dict[str, Any]:
    """Return the part of a JSON schema that a path of pydantic's (with union tags) leads to."""
    root = schema
    here = _resolve(schema, root)
    for part in loc:
        mapping = here.get("discriminator", {}).get("mapping", {})
        if isinstance(part, int):
            prefix = here.get("prefixItems", [])
            here = prefix[part] if part < len(prefix) else here.get("items", {})
        elif part in here.get("properties", {}):
            here = here["properties"][part]
        elif part in mapping:
            here = {"$ref": mapping[part]}
        else:
            continue
        here = _resolve(here, root)
    return here


def _resolve(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """Follow references, and go past `or null`."""
    while True:
        options = [o for o in schema.get("anyOf", []) if o.get("type") != "null"]
        if "$ref" in schema:
            schema = root.get("$defs", {}).get(schema["$ref"].rsplit("/", 1)[-1], {})
        elif len(options) == 1:
            schema = options[0]
        else:
            return schema
