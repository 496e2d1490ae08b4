"""The terrain of a scene file: checked before anything is built, then built with its tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from berm.core.shapes import Box, Mesh
from berm.io.problems import Problems, near

if TYPE_CHECKING:
    from berm.core.soil import Soil
    from berm.io.schema_terrain import TerrainPart
    from berm.world.world import World

Layers = list[tuple["Soil", float | None]]


def check(
    part: TerrainPart | None, bodies: list[dict[str, Any]], problems: Problems, folder: Path
) -> Layers:
    """Note what is wrong with a terrain and its tools; return its layers."""
    if part is None:
        return []
    layers: Layers = []
    for k, layer in enumerate(part.layers):
        with problems.at("terrain", "layers", k):
            layers.append(layer.make())
    if len(layers) == len(part.layers):
        with problems.at("terrain"):
            part.make(folder, layers)
    shapes = {body["name"]: body.get("shape") for body in bodies if body["name"] is not None}
    if part.name in shapes:
        problems.add(("terrain", "name"), f"got {part.name!r}; allowed: an unused name")
    return layers


def build(
    part: TerrainPart, world: World, layers: Layers, problems: Problems, folder: Path
) -> None:
    """Add the terrain, and the tools by the names of the bodies that there are by now."""
    with problems.at("terrain"):
        part.add(world, folder, layers)
    terrain = world.terrain
    if terrain is None:
        return
    diggers = {b.name: b for b in world.bodies if isinstance(b.shape, Box | Mesh)}
    for k, tool in enumerate(part.tools):
        if tool.body not in diggers:
            known = ", ".join(diggers) or "none: no body is a box or a mesh"
            text = f"got {tool.body!r}; allowed: {known}{near(tool.body, diggers)}"
            problems.add(("terrain", "tools", k, "body"), text)
            continue
        with problems.at("terrain", "tools", k):
            terrain.add_tool(diggers[tool.body], tool.reach, tool.depth)
