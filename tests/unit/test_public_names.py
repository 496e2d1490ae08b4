"""What `import berm` offers, at run time and to type checkers."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import berm


def test_type_checkers_see_the_names_that_are_imported_on_first_use() -> None:
    """Without the stub each of them is Any: no completion, and no error where one is misused."""
    stub = ast.parse(Path(berm.__file__).with_suffix(".pyi").read_text())
    told = {
        alias.asname: f"{node.module}.{alias.name}"
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    homes = {name: f"{module}.{name}" for name, module in berm._HOMES.items()}
    assert told == homes | berm._MODULES
    assert {"__version__", *told} == set(berm.__all__)


def test_every_public_name_tells_what_it_is() -> None:
    for name in berm.__all__:
        assert name == "__version__" or inspect.getdoc(getattr(berm, name)), name
