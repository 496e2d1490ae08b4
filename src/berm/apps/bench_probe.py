"""A child process of `berm bench`: when the first step was done, and the memory a grain takes.

Memory is the peak over the steps of a settled bed in which pairs and walls are searched once.

python -m berm.apps.bench_probe GRAINS STEPS SPAWNED   prints one line of JSON.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def memory(peak: bool = False) -> int:
    """Return the resident memory in bytes, now or at its peak; 0 where it cannot be asked."""
    if STATUS.exists():
        name = "VmHWM:" if peak else "VmRSS:"
        for line in STATUS.read_text().splitlines():
            if line.startswith(name):
                return 1024 * int(line.split()[1])
    return 0


def forget_peak() -> None:
    """Let the peak start anew from the present memory, where the system can do that."""
    with contextlib.suppress(OSError):
        CLEAR.write_text("5")


def probe(grains: int, steps: int, spawned: float) -> dict[str, float]:
    """Step a small world, then one of `grains`."""
    from berm.apps.bench_worlds import FORMS, bed, settled_bed

    bed(2000, FORMS["default"]()).step()
    first = time.time() - spawned
    if not grains:
        return {"first_step": first}
    before = memory()
    world = settled_bed(grains)
    forget_peak()
    world.grains.changed = True
    for _ in range(steps):
        world.step()
    return {"first_step": first, "bytes": float(memory(peak=True) - before)}


def spawn(grains: int, steps: int, environment: dict[str, str]) -> dict[str, Any]:
    """Run a probe in a new process and return what it found."""
    command = [sys.executable, "-m", "berm.apps.bench_probe", str(grains), str(steps)]
    done = subprocess.run(
        [*command, repr(time.time())], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no result"])[-1]}
    return dict(json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    found = probe(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
    sys.stdout.write(json.dumps(found) + "\n")
