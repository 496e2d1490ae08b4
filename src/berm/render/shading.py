"""The shaders as text: one set of files for the page (WebGL 2) and for the off-screen renderer."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from berm.core.errors import InputError

# name -> vertex and fragment stage; the page compiles the same pairs
PROGRAMS = {
    "grain": ("grain.vert.glsl", "grain.frag.glsl"),  # the page's; the next two do it in two steps
    "grain_fill": ("grain.vert.glsl", "grain_fill.frag.glsl"),
    "grain_light": ("backdrop.vert.glsl", "grain_light.frag.glsl"),
    "grain_shadow": ("grain_shadow.vert.glsl", "grain_shadow.frag.glsl"),
    "body": ("body.vert.glsl", "body.frag.glsl"),
    "body_shadow": ("body_shadow.vert.glsl", "body_shadow.frag.glsl"),
    "ground": ("body.vert.glsl", "ground.frag.glsl"),
    "occluder": ("occluder.vert.glsl", "grain_shadow.frag.glsl"),
    "smooth": ("backdrop.vert.glsl", "smooth.frag.glsl"),
    "backdrop": ("backdrop.vert.glsl", "backdrop.frag.glsl"),
}
_INCLUDE = re.compile(r'^#include "([\w.]+)"$', re.MULTILINE)


def files() -> list[str]:
    """Return the names of all shader files."""
    folder = resources.files("berm.render") / "shaders"
    return sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".glsl"))


@cache
def source(name: str) -> str:
    """Return a shader file with its includes filled in; there is no version line in it."""
    if name not in files():
        raise InputError("shader", name, ", ".join(files()))
    text = (resources.files("berm.render") / "shaders" / name).read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda found: source(found.group(1)), text)


def programs() -> dict[str, dict[str, str]]:
    """Return {"grain": {"vertex": text, "fragment": text}, ...}, for the page as JSON."""
    return {
        name: {"vertex": source(vertex), "fragment": source(fragment)}
        for name, (vertex, fragment) in PROGRAMS.items()
    }
