"""Machines: bodies, joints, actuators and controls of vehicles and tools, one a file.

loader = berm.machines.add(world, "loader", position=(0, 0, 0), pose="carry")
loader.command(throttle=1, gear=1, lift=0.5)
"""

from __future__ import annotations

from typing import Any

_HOMES = {
    "MACHINES": "base", "add": "base", "add_tool": "base", "design_of": "base", "load_all": "base",
    "Machine": "machine", "Controls": "machine",
    "Design": "design", "Part": "design", "Link": "design", "Coupling": "design",
    "hinge": "design", "ball": "design", "weld": "design", "slider": "design", "ram": "design",
    "rod": "design",
    "Actuator": "actuators", "Brake": "actuators", "Tracks": "tracks",
    "Cylinder": "hydraulics", "Rotary": "hydraulics", "Lever": "hydraulics",
    "Hydraulics": "hydraulics",
    "Tool": "tool", "Implement": "tool", "margin": "stability",
    "Leg": "operator", "levers_to": "operator", "aim": "reach", "Operator": "operator",
    "Engine": "engine", "Converter": "engine", "Driveline": "engine",
}  # fmt: skip

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import on first use; MACHINES comes with every machine of this package in it."""
    import importlib

    if name not in _HOMES:
        raise AttributeError(f"module 'berm.machines' has no attribute {name!r}")
    found = getattr(importlib.import_module(f"berm.machines.{_HOMES[name]}"), name)
    if name == "MACHINES":
        importlib.import_module("berm.machines.base").load_all()
    return found
