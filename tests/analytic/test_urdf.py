"""Machines from URDF files against closed forms: a pendulum, limits, a coupling, a closed loop."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import berm
from berm import P2

G = 9.81


def link(name: str, mass: float, centre: float, moment: float, length: float) -> str:
    """A bar along x with its moment about y and z, whatever its box would have."""
    return (
        f'<link name="{name}"><inertial><origin xyz="{centre} 0 0"/><mass value="{mass}"/>'
        f'<inertia ixx="{0.1 * moment}" iyy="{moment}" izz="{moment}"/></inertial>'
        f'<collision><origin xyz="{length / 2} 0 0"/><geometry><box size="{length} 0.02 0.02"/>'
        "</geometry></collision></link>"
    )


def joint(name: str, parent: str, child: str, origin: str, kind: str, more: str = "") -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin {origin}/><axis xyz="0 1 0"/>{more}</joint>'
    )


def load(tmp_path: Path, parts: str, dt: float, gravity=(0, 0, -G), **options):
    path = tmp_path / "machine.urdf"
    path.write_text(f'<robot name="machine"><link name="base"/>{parts}</robot>')
    world = berm.World(dt=dt, gravity=gravity, solver=P2(substeps=1))
    return world, berm.load_urdf(world, path, **options)


def test_period_of_a_pendulum(tmp_path):
    """2 pi sqrt((I + m l^2) / (m g l)), for 0.1 rad longer by a sixteenth of its square."""
    mass, arm, moment, start = 2.0, 0.4, 0.3, 0.1
    parts = link("bar", mass, arm, moment, 0.8) + joint("pin", "base", "bar", "", "continuous")
    world, one = load(tmp_path, parts, 1 / 500, positions={"pin": math.pi / 2 - start})
    crossings, before = [], -start
    while len(crossings) < 3:
        world.step()
        now = one.positions["pin"] - math.pi / 2
        if before < 0.0 <= now or now <= 0.0 < before:
            crossings.append(world.time - world.dt * now / (now - before))
        before = now
        assert world.time < 5.0
    expected = math.tau * math.sqrt((moment + mass * arm**2) / (mass * G * arm))
    assert crossings[2] - crossings[0] == pytest.approx(expected * (1 + start**2 / 16), rel=2e-4)


def test_limits_drives_and_couplings_act(tmp_path):
    """An arm falls to its limit; one that is driven lifts its load; a third follows it."""
    limit = '<limit lower="-1.5" upper="0.4" effort="40" velocity="0.5"/>'
    parts = "".join(link(name, 1.0, 0.25, 0.03, 0.5) for name in ("a", "b", "c"))
    parts += joint("falls", "base", "a", 'xyz="0 0 0"', "revolute", limit)
    parts += joint("lifts", "base", "b", 'xyz="0 1 0"', "revolute", limit)
    parts += joint("follows", "base", "c", 'xyz="0 2 0"', "continuous",
                   '<mimic joint="lifts" multiplier="-2" offset="0.1"/>')  # fmt: skip
    world, arm = load(tmp_path, parts, 1 / 200)
    arm.drive_to("lifts", -1.0)
    world.run(1.0)
    assert arm.positions["lifts"] == pytest.approx(-0.5, abs=0.01)  # at its speed, no faster
    world.run(2.0)
    assert arm.positions["falls"] == pytest.approx(0.4, abs=1e-3)
    assert arm.positions["lifts"] == pytest.approx(-1.0, abs=1e-3)
    assert arm.positions["follows"] == pytest.approx(2.1, abs=1e-3)
    # what the limit bears: the weight at its arm
    falls = arm.joints["falls"]
    assert abs(falls.torque[1]) == pytest.approx(G * 0.25 * math.cos(0.4), rel=1e-3)
    assert falls.force[2] == pytest.approx(G, rel=1e-3)


EXTRA = """
joints:
  - {kind: hinge, name: rocker, body: rocker, to: base, anchor: [0.9, 0, 0], anchor_b: [1, 0, 0],
     axis: [0, 1, 0], axis_b: [0, 1, 0]}
drives:
  crank: {kind: speed, speed: 1.0}
"""


def test_four_bar_closed_by_the_extra_file(tmp_path):
    """Crank, coupler, rocker and ground: the angle of the rocker over that of the crank.

    With the crank's end P and the rocker's pin Q, the triangle of coupler, rocker and PQ gives it
    (law of cosines).
    """
    crank, coupler, rocker, ground = 0.3, 0.8, 0.9, 1.0
    # at the start the crank points along x: P = (0.3, 0), Q = (1, 0)
    far = ground - crank
    at_p = math.acos((far**2 + coupler**2 - rocker**2) / (2 * far * coupler))
    at_c = math.acos((coupler**2 + rocker**2 - far**2) / (2 * coupler * rocker))
    parts = (
        link("crank", 1.0, 0.15, 0.02, crank) + link("coupler", 1.0, 0.4, 0.1, coupler)
        + link("rocker", 1.0, 0.45, 0.1, rocker)
        + joint("crank", "base", "crank", "", "continuous")
        + joint("knee", "crank", "coupler", f'xyz="{crank} 0 0"', "continuous")
        + joint("elbow", "coupler", "rocker", f'xyz="{coupler} 0 0"', "continuous")
    )  # fmt: skip
    extra = tmp_path / "machine.yaml"
    extra.write_text(EXTRA)
    # about y, angles turn z towards -x: up is negative
    start = {"knee": -at_p, "elbow": math.pi - at_c}
    world, bars = load(tmp_path, parts, 1 / 600, extra=extra, positions=start)
    assert bars.joints["rocker"].error < 1e-9
    worst = 0.0
    for step in range(600):
        world.step()
        if step % 20 == 19:
            turned = bars.positions["crank"]
            px, pz = crank * math.cos(turned), -crank * math.sin(turned)
            d = math.hypot(ground - px, pz)
            towards = math.atan2(pz, ground - px)  # of Q from P, counted as the joints count
            at_p = math.acos((d * d + coupler**2 - rocker**2) / (2 * d * coupler))
            at_c = math.acos((coupler**2 + rocker**2 - d * d) / (2 * coupler * rocker))
            knee = towards - at_p - turned
            worst = max(worst, abs(bars.positions["knee"] - knee))
            worst = max(worst, abs(bars.positions["elbow"] - (math.pi - at_c)))
    assert bars.positions["crank"] == pytest.approx(1.0, abs=1e-5)
    assert bars.joints["rocker"].error < 1e-6
    assert worst < 5e-6
