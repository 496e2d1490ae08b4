"""Fixtures of typed commands and of pages: one browser for all, a fresh profile for each tab."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs `berm` in this process, which spares each of many short commands 2 s of imports."""

    def run(*words: str | Path, cwd: Path | None = None) -> CompletedProcess[str]:
        from berm.apps.cli import main

        code: Any = 0
        with monkeypatch.context() as patch:
            if cwd is not None:
                patch.chdir(cwd)
            patch.setattr(sys, "argv", ["berm", *map(str, words)])
            capsys.readouterr()
            try:
                main()
            except SystemExit as stop:
                code = stop.code
        said = capsys.readouterr()
        return CompletedProcess(words, code or 0, said.out, said.err)

    return run


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless browser; the test is skipped where there is none."""
    from tests.end_to_end.page_tools import FLAGS, browser_path

    path = browser_path()
    sync = pytest.importorskip("playwright.sync_api")
    with sync.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., Any]]:
    """Serves sessions until the end of the test, when the tabs are closed."""
    from tests.end_to_end.page_tools import serving

    with ExitStack() as stack:
        yield lambda session: stack.enter_context(serving(session))


@pytest.fixture
def new_tab(browser: Any, serve: Any) -> Iterator[Callable[..., Any]]:
    """Opens tabs of a size; in the end, no tab may have said or asked what it should not."""
    from tests.end_to_end.page_tools import Tab

    made: list[Tab] = []

    def make(width: int = 800, height: int = 600, **options: Any) -> Tab:
        size = {"width": width, "height": height}
        given = {"color_scheme": "dark", **options}
        made.append(Tab(browser.new_context(viewport=size, **given)))
        return made[-1]

    yield make
    for tab in made:
        tab.context.close()
    for tab in made:
        assert tab.strangers() == []
        assert tab.unforgiven() == []
