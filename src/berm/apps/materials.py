"""`berm materials`: the presets, the friction that makes one heap up right, the bulk's strength."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from berm.apps import console
from berm.core.errors import InputError
from berm.core.materials import MATERIALS, REPOSE, Material, calibrate, material


def materials(
    name: str | None, angle: float | None, strength: bool, confining: Sequence[float] | None
) -> None:
    """List the presets, or tell of one; with `strength`, measure its bulk at these stresses, Pa."""
    if name is None:
        if angle is not None or strength:
            raise InputError("materials: name", None, "a material, for --angle and --strength")
        _list()
        return
    law = material(name)
    _describe(law)
    wanted = math.degrees(math.atan(law.friction_static)) if angle is None else angle
    if angle is not None or REPOSE[0][1] <= wanted <= REPOSE[-1][1]:
        law = calibrate(law, angle)
        console.say(
            f"\nfor grains that do not turn (p2) to heap up at [bold]{wanted:.1f} degrees[/]: "
            f"friction_static {law.friction_static:.3f}, "
            f"friction_kinetic {law.friction_kinetic:.3f}"
        )
    if strength:
        _measure(law, confining)


def _list() -> None:
    shown = console.table(
        "material", "density", "friction", "adhesion, Pa", "source",
        right=("density", "friction", "adhesion, Pa"),
    )  # fmt: skip
    for name in sorted(MATERIALS.names()):
        law = material(name)
        shown.add_row(
            name, f"{law.density:g}", f"{law.friction_static:g}", f"{law.adhesion:g}",
            console.escape(law.source),
        )  # fmt: skip
    console.out.print(shown)


def _describe(law: Material) -> None:
    shown = console.table("property", law.name)
    for field in dataclasses.fields(law)[1:]:
        value = getattr(law, field.name)
        shown.add_row(field.name, console.escape(value if isinstance(value, str) else f"{value!r}"))
    console.out.print(shown)


def _measure(law: Material, confining: Sequence[float] | None) -> None:
    from berm.world.strength import strength, usual_stresses

    confining = usual_stresses(law) if confining is None else confining
    stresses = ", ".join(f"{one:g}" for one in confining)
    with console.out.status(f"compressing blocks of 1,078 grains at {stresses} Pa ..."):
        found = strength(law, confining)
    shown = console.table("confining, Pa", "at failure, Pa", right=("confining, Pa",))
    for low, high in zip(found.confining, found.axial, strict=True):
        shown.add_row(f"{low:.0f}", f"{high:.0f}")
    console.out.print(shown)
    console.say(
        f"bulk: cohesion [bold]{found.cohesion:.0f} Pa[/], friction angle "
        f"[bold]{found.angle:.1f} degrees[/]; mean overlap {100 * found.overlap:.2f} % of a radius"
    )
