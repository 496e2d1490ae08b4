"""`berm scenes`, `berm check-file` and `berm schema`: what can be run, and what may be written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from berm.apps import console
from berm.apps.console import escape, number, say, table
from berm.core.errors import InputError
from berm.scenes.parts.params import allowed

UNIT = re.compile(r"\s*\(([^()]*)\)\s*")


def scenes(name: str | None) -> None:
    """List all scenes, or one scene with its parameters."""
    from berm.scenes import SCENES
    from berm.scenes.base import scene

    if name is not None:
        _one_scene(scene(name))
        return
    shown = table("scene", "seconds", "what it does", right=("seconds",))
    for known in SCENES.names():
        one = SCENES.get(known)()
        length = one.duration(one.Params())
        shown.add_row(f"[bold]{known}[/]", f"{length:g}", escape(one.summary))
    console.out.print(shown)
    say("\n[dim]berm scenes NAME lists a scene's parameters; berm run NAME runs it[/]")


def _one_scene(one: Any) -> None:
    from berm.solvers.choice import names

    default = one.Params()
    say(f"[bold]{one.name}[/]: {escape(one.summary)} ({one.duration(default):g} s)")
    others = ", ".join(name for name in names(one.needs) if name != one.solver)
    say(f"solver: [bold]{one.solver}[/]; can also take {others}")
    schema = one.Params.model_json_schema()["properties"]
    shown = table("parameter", "default", "unit", "allowed", "what it is", right=("default",))
    shared = one.Params.__mro__[1].model_fields
    own = [n for n in one.Params.model_fields if n not in shared]
    for name in [*own, *(n for n in one.Params.model_fields if n not in own)]:
        text = str(one.Params.model_fields[name].description or "")
        unit = UNIT.search(text)
        if unit:
            text = UNIT.sub(" ", text, count=1).strip().replace(" ;", ";").replace(" ,", ",")
        value = getattr(default, name)
        shown.add_row(
            f"[bold]{name}[/]",
            "none" if value is None else number(value),
            unit[1] if unit else "",
            escape(allowed(schema[name])),
            escape(text),
        )
    console.out.print(shown)
    example = own[0] if own else "seed"
    value = number(getattr(default, example)).replace(",", "")
    say(f"\n[dim]berm run {one.name} -p {example}={value}[/]")


def check_file(path: Path) -> None:
    """Read a scene file, build its world, and say what is in it."""
    from berm.io.scenefile import load_scene

    loaded = load_scene(path)
    world = loaded.build()
    pours = len(world.emitters)
    say(
        f"[green]ok[/] {escape(str(path))}: {escape(loaded.name)}, {loaded.seconds:g} s, "
        f"{world.grains.n:,} grains, {len(world.bodies)} bodies, {pours} "
        f"emitter{'s' * (pours != 1)}, solver {world.solver.name}"
    )


def schema(path: Path | None) -> None:
    """Print or write the JSON schema of scene files."""
    from berm.io.scenefile import json_schema

    text = json.dumps(json_schema(), indent=2)
    if path is None:
        console.out.print(text, markup=False, soft_wrap=True)
        return
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError("-o", str(path), "a file that can be written", str(error)) from error
    say(f"written: [bold]{path}[/]")
