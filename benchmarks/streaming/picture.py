"""Measure what a picture of the page costs where a processor draws: CPU-ms of all of Chromium.

python -m benchmarks.streaming.picture --grains 20000   (needs chromium and playwright)

Each picture is drawn as after a step: the grains are new, so shadows are drawn again too. The
canvas is 1280 x 720. Two views: a settled bed, and a lattice, through whose gaps one sees far.
"""

from __future__ import annotations

import argparse
import os
import statistics
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

from berm.apps import console
from berm.apps.bench_worlds import bed
from berm.core.shapes import Plane
from berm.solvers.p2.solver import P2
from berm.world.world import World
from tests.end_to_end.page_tools import FLAGS, Still, Tab, browser_path, serving

WINDOW = {"width": 1572, "height": 816}  # leaves the canvas SIZE
SIZE = [1280, 720]
SETTLE = 150  # steps of 1/60 s
PICTURES = 6  # of one part
DRAW = """() => {
  const { view } = berm;
  view.invalidate(true);
  view.draw();
  const gl = view.renderer.getContext();
  gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4)); // waits for the picture
}"""


def settled(grains: int) -> World:
    """Return a box of grains at rest."""
    world = bed(grains, P2())
    for _ in range(SETTLE):
        world.step()
    return world


def lattice(grains: int, radius: float = 0.02) -> World:
    """Return a block of grains, twice as wide as high, on a floor."""
    high = round((grains / 2.5) ** (1 / 3))
    wide = 2 * high
    index = np.arange(grains)
    cell = np.stack([index % wide, index // (wide * high), index // wide % high], axis=1)
    jitter = np.random.default_rng(1).uniform(-0.05, 0.05, cell.shape)
    world = World()
    world.add_body(Plane(), name="floor", material="rough wall")
    world.add_grains(radius * (2.025 * cell + jitter + [0, 0, 1]), radius, material="gravel")
    return world


def browser_seconds() -> float:
    """Return the processor time of all of the browser's processes so far."""
    ticks = 0
    for process in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = process.read_text().partition("(")[2].rpartition(")")
        except OSError:  # it ended
            continue
        if "chrom" in name:
            ticks += sum(map(int, rest.split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def cost(browser: Any, name: str, world: World, parts: int) -> list[float]:
    """Return CPU-ms a picture of each part."""
    with serving(Still(world)) as server:
        tab = Tab(browser.new_context(viewport=WINDOW))
        tab.open(server.address)
        size = tab.run("() => [berm.view.canvas.width, berm.view.canvas.height]")
        if size != SIZE:
            raise SystemExit(f"the canvas is {size}, not {SIZE}: change WINDOW")
        found = []
        for _ in range(parts + 1):
            begin = browser_seconds()
            for _ in range(PICTURES):
                tab.run(DRAW)
            found.append(1e3 * (browser_seconds() - begin) / PICTURES)
        tab.shot(f"cost-{name}")
        tab.context.close()
    return found[1:]  # the first part compiles


def main() -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--grains", type=int, default=20_000)
    parser.add_argument("--parts", type=int, default=9)
    given = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=FLAGS)
        for name, build in (("settled", settled), ("lattice", lattice)):
            found = cost(browser, name, build(given.grains), given.parts)
            console.say_plain(
                f"{given.grains} grains, {name}, {SIZE[0]} x {SIZE[1]}: median"
                f" {statistics.median(found):.0f} CPU-ms a picture"
                f" ({min(found):.0f} to {max(found):.0f}); load average {os.getloadavg()[0]:.1f}"
            )
        browser.close()


if __name__ == "__main__":
    main()
