"""Build hook: put the npm packages of the viewer's page into the wheel or the editable install.

A build without npm or without a network still succeeds, with a message: only the page is missing
then, and `berm viewer-assets` brings it later.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VIEWER = Path("src/berm/apps/viewer")
SKIP = "BERM_SKIP_VIEWER_ASSETS"  # 1: build without the page's packages

# Elsewhere the node wheel would be compiled from source, which takes an hour: build without it
HAS_NODE_WHEEL = (
    "(sys_platform == 'linux' or sys_platform == 'darwin' or sys_platform == 'win32') and "
    "(platform_machine == 'x86_64' or platform_machine == 'AMD64' or "
    "platform_machine == 'aarch64' or platform_machine == 'arm64' or platform_machine == 'ARM64')"
)


class ViewerAssetsHook(BuildHookInterface[Any]):
    """Fills src/berm/apps/viewer/vendor and lists it as an artifact, since git ignores it."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Ask for npm in a wheel where the machine has none and the packages are not there yet."""
        assets = self._assets()
        if self._skipped() or assets.complete() or assets.find_npm() is not None:
            return []
        return [f"{assets.NODE_WHEEL}>=22; {HAS_NODE_WHEEL}"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Install the packages before files are collected."""
        assets = self._assets()
        build_data["artifacts"].append(f"/{(VIEWER / 'vendor').as_posix()}/**")
        if self._skipped():
            self.app.display_warning(f"{SKIP} is set: the viewer's page has no packages")
            return
        try:
            assets.install(say=self.app.display_info)
        except assets.AssetsError as error:
            self.app.display_warning(f"built without the viewer's page: {error}")

    def _assets(self) -> ModuleType:
        """Load assets.py by its path: berm itself cannot be imported before it is installed."""
        path = Path(self.root) / VIEWER / "assets.py"
        spec = importlib.util.spec_from_file_location("berm_viewer_assets", path)
        if spec is None or spec.loader is None:
            raise RuntimeError(f"cannot load {path}")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def _skipped(self) -> bool:
        return os.environ.get(SKIP, "") not in ("", "0")
