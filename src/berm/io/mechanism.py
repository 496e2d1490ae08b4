"""Bodies and joints of a scene file: made once as drafts, so that what is wrong shows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from berm.core.bodies import Body
from berm.core.joints import Joint
from berm.core.materials import MATERIALS
from berm.io.problems import Problems, near
from berm.io.schema_joints import AnyJoint


def draft(made: Mapping[str, Any]) -> Body:
    """Return a body as `World.add_body(**made)` will have it."""
    given = made["material"]
    stuff = MATERIALS.get(given) if isinstance(given, str) else given
    body = Body(made["shape"], made["name"], 0, made["position"], made.get("rotation"),
                made.get("motion"))  # fmt: skip
    if made.get("dynamic"):
        density = stuff.density if made.get("density") is None else made["density"]
        rest = ("mass", "velocity", "angular_velocity", "inertia", "centre")
        body.set_free(density, **{key: made[key] for key in rest if key in made})
    return body


def check_joints(
    parts: Sequence[AnyJoint],
    drafts: Mapping[str, Body | None],
    bodies: Iterable[str],
    problems: Problems,
    joints: Mapping[str, Joint] | None = None,
) -> dict[str, Joint]:
    """Make every joint once, between drafts of the bodies; `bodies` are all names there are.

    joints: those that there are already, by name. Returns all that have one.
    """
    before = {} if joints is None else dict(joints)
    known = sorted(name for name in bodies if name)
    called = [*before, *(part.name for part in parts if part.name)]
    taken = set(before)
    for i, part in enumerate(parts):
        for key, name in part.names().items():
            _check_name(name, known, "none: give bodies a name", problems, "joints", i, key)
        for key, name in part.links().items():
            _check_name(name, called, "none: give joints a name", problems, "joints", i, key)
        if part.name in taken:
            problems.add(("joints", i, "name"), f"got {part.name!r}; allowed: an unused name")
        if part.name:
            taken.add(part.name)
    return make_joints(parts, drafts, problems, lambda joint: joint, before)


def _check_name(
    name: str, known: Sequence[str], none: str, problems: Problems, *path: str | int
) -> None:
    if name not in known:
        listed = ", ".join(known) or none
        problems.add(path, f"got {name!r}; allowed: {listed}{near(name, known)}")


def make_joints(
    parts: Sequence[AnyJoint],
    bodies: Mapping[str, Body | None],
    problems: Problems,
    add: Callable[[Joint], Joint],
    joints: Mapping[str, Joint] | None = None,
) -> dict[str, Joint]:
    """Make and add those joints whose bodies are there, those that gears couple first.

    Returns them by name, and `joints` before them.
    """
    made: dict[str, Joint] = {} if joints is None else dict(joints)
    for i, part in sorted(enumerate(parts), key=lambda item: bool(item[1].links())):
        there = all(name in bodies for name in part.names().values())
        if there and all(name in made for name in part.links().values()):
            with problems.at("joints", i):
                joint = add(part.make(bodies, made))
                made[part.name or f"joints[{i}]"] = joint
    return made
