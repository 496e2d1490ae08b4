"""What all tests share: the --slow flag, processes, threads, one cache, repeatable examples."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# Before anything imports the JIT: two threads even on one core, so that thread tests mean something
os.environ.setdefault("NUMBA_NUM_THREADS", str(max(2, os.cpu_count() or 1)))
# Tests run in two processes, so that threads which wait must not spin
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
# NumPy's matrices here are small: on a busy machine a second thread, which spins, costs 100 times
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# One cache for this process and for the commands that tests start, whatever else they change
_cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "berm"
os.environ.setdefault("BERM_CACHE_DIR", str(_cache))
# What a shell starts in the background ignores Ctrl-C, and tests that send it would never end
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the slow tests as well")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two processes, for each may use all threads; none for a single file, which is quicker so."""
    paths = [argument.partition("::")[0] for argument in config.args]
    return 0 if len(paths) == 1 and paths[0].endswith(".py") else 2


def pytest_configure(config: pytest.Config) -> None:
    try:
        from hypothesis import settings
    except ImportError:
        return
    # no deadline: the first example compiles; no chance: a failure comes back in the next run
    settings.register_profile("berm", deadline=None, derandomize=True, print_blob=True)
    settings.load_profile("berm")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow"):
        return
    skip = pytest.mark.skip(reason="slow: run with --slow")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def _same_threads_for_all() -> Iterator[None]:
    """Start each test with all threads, or in one of several processes with its share of them.

    Threads that wait for a core which another process has cost up to 2.5 times the work itself.
    """
    jit = sys.modules.get("berm.kernels.jit")
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    threads = max(1, jit.max_threads() // processes) if jit is not None else None
    if jit is not None:
        jit.set_threads(threads)
    yield
    if jit is not None:
        jit.set_threads(threads)  # also for what the next test's module sets up


@pytest.fixture(scope="session")
def graphics() -> None:
    """Skip where nothing can be drawn; where CI runs, that is a failure."""
    from berm.render import context

    try:
        context.create().release()
    except context.NoGraphics as error:
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))
