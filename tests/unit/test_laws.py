"""Contact laws one by one: their formulas, what they declare, and how they compose."""

from __future__ import annotations

import math
import textwrap

import numpy as np
import pytest

from berm.core.errors import InputError
from berm.core.materials import Material
from berm.kernels.jit import jit
from berm.laws import (
    cohesion_area,
    cohesion_sjkr,
    normal_hertz,
    normal_linear,
    normal_power,
    rolling_constant,
    rolling_spring,
    tangential_capped,
    tangential_coulomb,
    tangential_history,
    tangential_viscous,
)
from berm.laws.base import ROLES, Law, law, load_all
from berm.laws.compose import composed

ONE = Material("one", density=2000.0, stiffness=1e5, restitution=0.5, friction_static=0.4,
               friction_kinetic=0.4, rolling_friction=0.1, adhesion=100.0, young_modulus=1e7,
               poisson_ratio=0.25)  # fmt: skip
TWO = Material("two", density=2000.0, stiffness=3e5, restitution=0.7, friction_static=0.6,
               friction_kinetic=0.6, rolling_friction=0.3, adhesion=400.0, young_modulus=4e7,
               poisson_ratio=0.3)  # fmt: skip


def normal(module, one, *arguments):
    """Call the compiled normal force of a law for the pair of materials above."""
    function = module.force

    @jit
    def call(p, xi, xi_dot, r, m):
        return function(p[0], p[1], p[2], p[3], xi, xi_dot, r, m)

    return call(np.array(one.numbers(ONE, TWO)), *map(float, arguments))


def test_linear_law_is_the_formula():
    """(8)-(11): two springs in series, damping for the mean restitution."""
    xi, rate, m = 1e-3, 0.2, 0.03
    k = 2 * 1e5 * 3e5 / 4e5
    log = math.log(0.6)
    c = 2 * math.sqrt(k * m) * -log / math.hypot(math.pi, log)
    got = normal(normal_linear, normal_linear.Linear(), xi, rate, 0.01, m)
    assert got == pytest.approx((k * xi + c * rate, k, c))


def test_hertz_law_is_the_formula():
    """(12)-(15), alpha 1/4 for constant restitution; another alpha with a damping coefficient."""
    xi, rate, r, m = 1e-3, 0.2, 0.01, 0.03
    modulus = 1 / ((1 - 0.25**2) / 1e7 + (1 - 0.3**2) / 4e7)
    k = 4 / 3 * modulus * math.sqrt(r)
    log = math.log(0.6)
    c = math.sqrt(5) * -log / math.hypot(math.pi, log) * math.sqrt(m * k) * xi**0.25
    got = normal(normal_hertz, normal_hertz.Hertz(), xi, rate, r, m)
    assert got == pytest.approx((k * xi**1.5 + c * rate, 1.5 * k * math.sqrt(xi), c))
    viscous = normal_hertz.Hertz(alpha=0.5, dissipation=1e-4)
    c = 1.5e-4 * k * math.sqrt(xi)
    assert normal(normal_hertz, viscous, xi, rate, r, m)[2] == pytest.approx(c)


def test_power_law_is_the_formula():
    """(7) with any exponents."""
    one = normal_power.Power(k_r=1e6, k_d=250.0, alpha=0.5, beta=1.5)
    xi, rate = 2e-3, -0.3
    wanted = 1e6 * xi**1.5 + 250.0 * xi**0.5 * rate
    assert normal(normal_power, one, xi, rate, 0.01, 1.0)[0] == pytest.approx(wanted)


def shear(module, one, displacement, velocity, f_n, k_n=1e5, c_n=10.0):
    """Call the compiled shear force of a law."""
    function = module.force

    @jit
    def call(p, d, v, f, k, c):
        return function(p[0], p[1], p[2], p[3], d[0], d[1], d[2], v[0], v[1], v[2], f, k, c)

    out = call(np.array(one.numbers(ONE, TWO)), np.array(displacement, float),
               np.array(velocity, float), float(f_n), k_n, c_n)  # fmt: skip
    return np.array(out[:3]), np.array(out[3:])


def test_shear_laws_are_the_formulas():
    """(16)-(19): viscous, Coulomb, the smaller of the two, and the spring with its memory."""
    v = (0.3, -0.4, 0.0)
    force, _ = shear(tangential_viscous, tangential_viscous.Viscous(k_t=5.0), (0, 0, 0), v, 2.0)
    assert force == pytest.approx([-1.5, 2.0, 0.0])
    force, _ = shear(tangential_coulomb, tangential_coulomb.Coulomb(), (0, 0, 0), v, 2.0)
    assert force == pytest.approx([-0.48, 0.64, 0.0])  # 0.4 of f_n
    force, _ = shear(tangential_coulomb, tangential_coulomb.Coulomb(), (0, 0, 0), (0, 0, 0), 2.0)
    assert force == pytest.approx([0, 0, 0])
    for k_t, size in ((0.5, 0.25), (50.0, 0.8)):
        one = tangential_capped.Capped(k_t=k_t)
        force, _ = shear(tangential_capped, one, (0, 0, 0), v, 2.0)
        assert np.linalg.norm(force) == pytest.approx(size)
    one = tangential_history.History(stiffness=0.5, damping=0.0)
    force, kept = shear(tangential_history, one, (1e-6, 0, 0), v, 2.0)
    assert force == pytest.approx([-0.05, 0, 0]) and kept == pytest.approx([1e-6, 0, 0])
    force, kept = shear(tangential_history, one, (1e-3, 0, 0), v, 2.0)
    assert force == pytest.approx([-0.8, 0, 0]) and kept == pytest.approx([1.6e-5, 0, 0])


@pytest.mark.parametrize(("module", "law"), [
    (tangential_coulomb, tangential_coulomb.Coulomb),
    (tangential_capped, tangential_capped.Capped),
    (tangential_history, tangential_history.History),
])  # fmt: skip
@pytest.mark.parametrize(("pull", "size"), [(0.0, 0.0), (0.5, 0.4), (1.0, 0.8)])
def test_pull_counts_for_coulombs_limit_as_told(module, law, pull, size):
    """Friction of mu = 0.4 at a normal force of -2 N; with all of it mu |f_n|, as it was."""
    force, _ = shear(module, law(pull=pull), (1.0, 0, 0), (50.0, 0, 0), -2.0)
    assert force == pytest.approx([-size, 0, 0])


def test_mindlin_ratio_of_equals():
    """k_t / k_n = 2 (1 - nu) / (2 - nu) for two of a kind."""
    wanted = 2 * (1 - 0.25) / (2 - 0.25)
    assert tangential_history.shear_ratio(ONE, ONE) == pytest.approx(wanted)


def test_rolling_and_cohesion_laws_are_the_formulas():
    """Limits mu_r R |f_n|; pull by area, [Holz14] (35), and by the pressed disc."""

    def roll(module, one, angle, rate):
        function = module.torque

        @jit
        def call(p, a, w):
            return function(p[0], p[1], p[2], p[3], a[0], a[1], a[2], w[0], w[1], w[2], -5.0, 1e5,
                            0.02, 1e-4)  # fmt: skip

        return np.array(call(np.array(one.numbers(ONE, TWO)), np.array(angle, float),
                             np.array(rate, float)))  # fmt: skip

    out = roll(rolling_constant, rolling_constant.Constant(), (0, 0, 0), (3.0, 0, 4.0))
    assert out[:3] == pytest.approx(0.1 * 0.02 * 5.0 * np.array([-0.6, 0, -0.8]))
    k = 2.25 * 1e5 * (0.1 * 0.02) ** 2
    out = roll(rolling_spring, rolling_spring.Spring(), (0, 0, 0), (3.0, 0, 4.0))
    assert out[:3] == pytest.approx(-k * 1e-4 * np.array([3.0, 0, 4.0]))
    out = roll(rolling_spring, rolling_spring.Spring(), (1.0, 0, 0), (0, 0, 0))
    assert out[0] == pytest.approx(-0.01) and out[3] == pytest.approx(0.01 / k)

    def pull(module, one, xi):
        function = module.pull

        @jit
        def call(p, xi):
            return function(p[0], p[1], p[2], p[3], xi, 0.01, 0.02)

        return call(np.array(one.numbers(ONE, TWO)), xi)

    r, xi = 0.02, 1e-3
    area = math.pi * r**2 * (1 - (xi / r - 1) ** 2)
    assert pull(cohesion_area, cohesion_area.Area(), xi) == pytest.approx(100.0 * area)
    wanted = 7.0 * math.pi * 0.01 * xi
    assert pull(cohesion_sjkr, cohesion_sjkr.SimplifiedJKR(7.0), xi) == pytest.approx(wanted)


def test_every_law_declares_itself():
    """Name, history, units of its options; and takes nothing else."""
    load_all()
    for role, table in ROLES.items():
        for name in table:
            one = table.get(name)()
            assert isinstance(one, Law) and one.name == name
            assert set(one.UNITS) <= set(one.options())
            assert len(one.numbers(TWO.replace(damping=1.0), TWO) if name != "timed"
                       else one.numbers(ONE, TWO)) == 4  # fmt: skip
            assert law(role, one.options()) == one
            with pytest.raises(InputError, match="unknown option"):
                law(role, {"law": name, "stickiness": 1.0})
    with pytest.raises(InputError, match="history"):
        law("tangential", "spring")


def test_no_law_can_be_typed():
    """`none` on the command line is the law of that name."""
    from berm.apps.job import Request, make_job, pairs

    typed = ["tangential=none", "rolling=none", "cohesion=none"]
    request = Request("pile", solver="dem")
    request.solver_options = pairs([*typed, "normal={law: hertz, dissipation: 1e-4}"], "")
    laws = make_job(request).build().solver.laws
    assert [laws[role].name for role in ("tangential", "rolling", "cohesion")] == ["none"] * 3
    assert laws["normal"].dissipation == 1e-4


def test_an_option_of_discrete_elements_can_be_typed_where_grains_are_there_from_the_start():
    """A solver was put in place of another and prepared again, which forgot the grains' inertia."""
    from berm.apps.job import Request, make_job

    small = {"drum": 0.08, "width": 0.04, "turns": 0.1}
    request = Request("drum", parameters=small, solver="dem", solver_options={"skin": 0.2})
    world = make_job(request).build()
    for _ in range(3):
        world.step()
    assert world.solver.skin == 0.2 and world.grains.n >= 20
    assert np.isfinite(world.grains.position).all()


def test_a_running_world_of_discrete_elements_takes_other_options():
    from berm.scenes.base import scene
    from berm.scenes.parts.retune import retune_solver

    one = scene("drum")
    params = one.Params(drum=0.08, width=0.04, turns=0.1)
    world, other = one.build(params, "dem"), one.build(params, "dem")
    for k in range(6):
        if k == 3:
            retune_solver(world, {"steps_a_contact": 26})
        world.step()
        other.step()
    assert world.solver.steps_a_contact == 26
    off = np.abs(by_tag(world) - by_tag(other)).max()
    assert 0.0 < off < 0.1 * params.radius  # other roundings, the same motion


def by_tag(world):
    """Positions in the order of tags, m."""
    return world.grains.position[np.argsort(world.grains.tags)]


def test_default_choice_is_the_file_itself_and_others_are_copies():
    """The default laws are composed in `blocks.py`; another choice has its own file."""
    plain = composed({role: law(role, name) for role, name in (
        ("normal", "linear"), ("tangential", "history"), ("rolling", "none"), ("cohesion", "none")
    )})  # fmt: skip
    assert plain.__name__ == "berm.laws.blocks"
    other = composed({role: law(role, name) for role, name in (
        ("normal", "hertz"), ("tangential", "none"), ("rolling", "spring"), ("cohesion", "area")
    )})  # fmt: skip
    assert other.__name__ != plain.__name__
    assert (other.SLIDES, other.ROLLS, other.TURNS) == (False, True, True)
    assert other.normal_force is normal_hertz.force


def test_a_law_of_a_user_is_one_file(tmp_path, monkeypatch):
    """A file outside berm that registers itself is found by name and composed."""
    (tmp_path / "normal_cubic.py").write_text(textwrap.dedent('''
        from dataclasses import dataclass
        from typing import ClassVar
        from berm.kernels.fused import inline
        from berm.laws.base import NORMAL, NormalLaw

        @NORMAL.register("cubic")
        @dataclass(frozen=True)
        class Cubic(NormalLaw):
            k: float = 1e9
            name: ClassVar[str] = "cubic"
            def numbers(self, a, b):
                return (self.k, 0.0, 0.0, 0.0)
            def contact_time(self, numbers, r_eff, m_eff, speed):
                return 1e-3

        @inline
        def force(k, _p, _q, _s, xi, xi_dot, r_eff, m_eff):
            return k * xi**3, 3.0 * k * xi**2, 0.0
    '''))  # fmt: skip
    monkeypatch.syspath_prepend(str(tmp_path))
    module = pytest.importorskip("normal_cubic")
    chosen = {role: law(role, "none") for role in ("tangential", "rolling", "cohesion")}
    chosen["normal"] = law("normal", {"law": "cubic", "k": 2.0})
    made = composed(chosen)
    assert made.normal_force is module.force
    assert normal(module, chosen["normal"], 0.5, 0.0, 1.0, 1.0)[0] == pytest.approx(0.25)
