"""Compiles a choice of laws: `blocks.py` with other imports, as a file of its own.

A law handed over as a function would be compiled anew at every start; a module with its own name
and file is cached on disk like any other. The name holds a hash of all that it is made of, so that
an edited law gives a new one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from berm.kernels import jit
from berm.laws import blocks
from berm.laws.base import Law

FUNCTIONS = {"normal": "force", "tangential": "force", "rolling": "torque", "cohesion": "pull"}


def composed(laws: Mapping[str, Law]) -> ModuleType:
    """Return the module with `pair_forces` and `wall_forces` of these laws, one of each role."""
    text = Path(str(blocks.__file__)).read_text("utf-8")
    digest = hashlib.sha256()
    for role, law in sorted(laws.items()):
        module = type(law).__module__
        pattern = rf"^from \S+ import ({FUNCTIONS[role]}.*?)  # law: {role}$"
        text, count = re.subn(pattern, rf"from {module} import \1  # law: {role}", text, flags=re.M)
        assert count == 1, role
        digest.update(inspect.getsource(sys.modules[module]).encode())
    for name, value in (
        ("SLIDES", laws["tangential"].history > 0),
        ("ROLLS", laws["rolling"].history > 0),
        ("TURNS", laws["rolling"].name != "none"),
    ):
        text = re.sub(rf"^{name} = \w+", f"{name} = {value}", text, flags=re.M)
    if text == Path(str(blocks.__file__)).read_text("utf-8"):
        return blocks
    digest.update(text.encode())
    digest.update(jit.source_key(blocks.__name__).encode())
    return _load(f"berm_laws_{digest.hexdigest()[:12]}", text)


def _load(name: str, text: str) -> ModuleType:
    """Import `text` as a module, from a file that stays beside its compiled kernels."""
    if name in sys.modules:
        return sys.modules[name]
    path = jit.CACHE_FOLDER / "composed" / f"{name}.py"
    if not path.exists() or path.read_text("utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(text, "utf-8")
        part.replace(path)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
