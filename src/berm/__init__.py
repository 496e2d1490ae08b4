"""berm: an open granular-matter and earthmoving simulator."""

from __future__ import annotations

from typing import Any

from berm.core import display as _display

__version__ = "0.1.0"

_HOMES = {
    "World": "berm.world.world",
    "P2": "berm.solvers.p2.solver",
    "DEM": "berm.solvers.dem.solver",
    "VTS": "berm.solvers.vts.solver",
    "SP": "berm.solvers.vts.sp",
    "Emitter": "berm.world.emitters",
    "Sink": "berm.world.emitters",
    "Material": "berm.core.materials",
    "material": "berm.core.materials",
    "calibrate": "berm.core.materials",
    "Profile": "berm.core.profile",
    "Soil": "berm.core.soil",
    "soil": "berm.core.soil",
    "Cloth": "berm.core.cloth",
    "Form": "berm.core.cloth",
    "Cluster": "berm.core.clusters",
    "tetrahedron": "berm.core.clusters",
    "cube": "berm.core.clusters",
    "rod": "berm.core.clusters",
    "ring": "berm.core.clusters",
    "cover": "berm.world.cover",
    "pack_spheres": "berm.world.cover",
    "Plane": "berm.core.shapes",
    "Sphere": "berm.core.shapes",
    "Spheres": "berm.core.shapes",
    "Box": "berm.core.shapes",
    "Cylinder": "berm.core.shapes",
    "Cone": "berm.core.shapes",
    "Capsule": "berm.core.shapes",
    "HeightField": "berm.core.shapes",
    "Mesh": "berm.core.shapes",
    "Fixed": "berm.core.motion",
    "Linear": "berm.core.motion",
    "Spin": "berm.core.motion",
    "Keyframes": "berm.core.motion",
    "Function": "berm.core.motion",
    "Steered": "berm.core.motion",
    "Hinge": "berm.core.joints",
    "Ball": "berm.core.joints",
    "Slider": "berm.core.joints",
    "Weld": "berm.core.joints",
    "Cylindrical": "berm.core.joints",
    "Universal": "berm.core.joints",
    "Distance": "berm.core.joints",
    "Spring": "berm.core.joints",
    "Gear": "berm.core.joints",
    "Differential": "berm.core.joints",
    "Inputs": "berm.core.inputs",
    "BermError": "berm.core.errors",
    "InputError": "berm.core.errors",
    "SimulationError": "berm.core.errors",
    "StepReport": "berm.core.report",
    "lattice": "berm.world.packings",
    "random_drop": "berm.world.packings",
    "poured": "berm.world.packings",
    "rock": "berm.world.rocks",
    "add_rocks": "berm.world.rocks",
    "Terrain": "berm.world.terrain.terrain",
    "digging_force": "berm.world.terrain.equations",
    "wheel_on_soil": "berm.world.terrain.equations",
    "Recorder": "berm.io.recording",
    "Recording": "berm.io.recording",
    "load_urdf": "berm.io.urdf",
    "load_machine": "berm.io.machine_file",
    "export": "berm.exports.base",
    "set_threads": "berm.kernels.jit",
    "scene": "berm.scenes.base",
    "show": "berm.apps.notebook",
}

_MODULES = {
    "measure": "berm.world.measure", "render": "berm.render", "machines": "berm.machines",
}  # fmt: skip

__all__ = ["__version__", *_MODULES, *_HOMES]


def __getattr__(name: str) -> Any:
    """Import on first use, so that `import berm` and `berm --help` stay quick."""
    import importlib

    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'berm' has no attribute {name!r}")


def _paint(thing: Any) -> bytes | None:
    """Return a picture for a notebook, or None where nothing can be drawn."""
    from berm.render.notebook import paint

    return paint(thing)


_display.register(_paint)
