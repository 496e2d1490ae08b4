"""A solver as users choose it: by name, with options; on the command line, in files, in pages.

Names are those of `SOLVERS`, those of their variants ("published", "pbd"), and either with a form
behind a colon: "vts:ij", "p2:mass".
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from berm.core.errors import InputError
from berm.solvers import options
from berm.solvers.base import SOLVERS, Solver, load_all


@dataclass(frozen=True)
class Choice:
    """The name of a solver or of a variant, and options that go before those of the variant."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, what: str | Choice) -> Choice:
        """Return a choice from a name, or as it is."""
        return what if isinstance(what, Choice) else cls(what)

    @property
    def kind(self) -> type[Solver]:
        """The class of solvers that the name belongs to."""
        return _find(self.name)[0]

    def given(self) -> dict[str, Any]:
        """Return all options that this choice sets, the variant's among them."""
        kind, known = _find(self.name)
        options.check_names(kind, self.options)
        return {**known, **self.options}

    def make(self) -> Solver:
        """Return a new solver."""
        return self.kind(**self.given())

    def changed(self, **changes: Any) -> Choice:
        """Return the same solver with other options."""
        return Choice(self.name, {**self.options, **changes})


def names(needs: frozenset[str] = frozenset()) -> list[str]:
    """Return all names, without forms, of solvers that can do what is needed."""
    load_all()
    able = [kind for kind in map(SOLVERS.get, SOLVERS) if needs <= kind.can]
    return sorted(name for kind in able for name in (kind.name, *vars(kind).get("variants", ())))


def make_solver(name: str, given: Mapping[str, Any] | None = None) -> Solver:
    """Return a new solver by name, with options; what it does not have is refused."""
    return Choice(name, given or {}).make()


def _find(name: str) -> tuple[type[Solver], dict[str, Any]]:
    """Return the class of solvers, and the options that a name stands for."""
    load_all()
    head, colon, form = str(name).partition(":")
    for kind in map(SOLVERS.get, SOLVERS):
        if head != kind.name and head not in vars(kind).get("variants", ()):
            continue
        known = dict(kind.variants.get(head, {}))
        if colon:
            if not kind.form_option:
                raise InputError("solver", name, f"{head}, which has no forms")
            known[kind.form_option] = form
        return kind, known
    every = names()
    near = difflib.get_close_matches(head, every, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise InputError("unknown solver", name, ", ".join(every) + hint)
