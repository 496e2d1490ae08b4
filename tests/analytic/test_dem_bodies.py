"""Rigid bodies of spheres in the discrete element method: rotation, momentum, meshes, RKF45."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from berm.core.clusters import cube, from_spheres, ring, rod, tetrahedron
from berm.core.errors import InputError
from berm.core.materials import Material
from berm.core.rotations import turned
from berm.core.shapes import Box, Cylinder, HeightField, Mesh, Plane
from berm.solvers.dem.solver import DEM
from berm.world import measure
from berm.world.world import World


def stuff(friction=0.4, restitution=0.5, stiffness=1e5, **values):
    """A material with one friction coefficient."""
    return Material("test", friction_static=friction, friction_kinetic=friction,
                    restitution=restitution, stiffness=stiffness, **values)  # fmt: skip


def spin_of(world):
    """Angular velocities (m, 3) of the bodies in the world's axes."""
    c = world.clumps
    return turned(c.q, c.L_own[:, :3] / c.moments[:, :3])


@pytest.mark.parametrize("integrator", ["verlet", "rkf45"])
def test_a27_free_top_keeps_momentum_and_energy(integrator):
    """A free body turns as Euler's equations say; |L| and energy drift by less than 1e-6."""
    shape = from_spheres([[0, 0, 0], [0.1, 0, 0], [0, 0.25, 0.02]], [0.05, 0.04, 0.06])
    solver = DEM(normal="linear", integrator=integrator, step_size=4e-4, tolerance=1e-7)
    world = World(gravity=(0, 0, 0), dt=0.05, solver=solver)
    world.add_clusters(shape, [[0, 0, 0]], spin=(0.3, 3.0, 0.2), material=stuff())
    c = world.clumps
    moments = c.moments[0, :3].copy()
    w0 = c.L_own[0, :3] / moments
    size, energy = (
        np.linalg.norm(c.L_own[0, :3]),
        float((c.L_own[0, :3] ** 2 / moments).sum()),
    )
    for _ in range(100):
        world.step()
        assert np.linalg.norm(c.L_own[0, :3]) == pytest.approx(size, rel=1e-6)
        assert float((c.L_own[0, :3] ** 2 / moments).sum()) == pytest.approx(energy, rel=1e-6)
    a, b, d = moments
    exact = solve_ivp(
        lambda t, w: [(b - d) / a * w[1] * w[2], (d - a) / b * w[2] * w[0],
                      (a - b) / d * w[0] * w[1]],
        (0, 5.0), w0, rtol=1e-11, atol=1e-13,
    )  # fmt: skip
    assert c.L_own[0, :3] / moments == pytest.approx(exact.y[:, -1], abs=2e-4)


def test_round_bodies_turn_at_an_even_pace():
    """A tetrahedron's moment is the same about all axes: it turns by spin x time about one axis."""
    spin = np.array([3.0, -8.0, 5.0])
    world = World(gravity=(0, 0, 0), dt=0.05, solver=DEM(normal="linear", step_size=1e-3))
    world.add_clusters(tetrahedron(0.05), [[0, 0, 0]], spin=spin, material=stuff())
    for _ in range(20):
        world.step()
    half = 0.5 * np.linalg.norm(spin) * world.time
    exact = [math.cos(half), *(math.sin(half) * spin / np.linalg.norm(spin))]
    assert abs(world.clumps.q[0] @ exact) == pytest.approx(1.0, abs=1e-12)
    assert spin_of(world)[0] == pytest.approx(spin, rel=1e-12)


def test_spheres_stay_where_their_bodies_have_them():
    """19 bodies, more than a block, of two to nine spheres: each sphere moves with its body."""
    world = World(dt=0.02, solver=DEM(normal="linear"), seed=5)
    shapes = [tetrahedron(0.05), rod(0.04, 2), cube(0.05), rod(0.04, 3), rod(0.03, 9)]
    for k in range(19):
        world.add_clusters(
            shapes[k % 5], [[k, 0, 5]], "random", (0.2 * k, 1, 0), (k, 3, -2), stuff()
        )
    for _ in range(10):
        world.step()
    g, c, omega = world.grains, world.clumps, spin_of(world)
    for b in range(c.n):
        rows = c.rows[c.first[b] : c.first[b + 1]]
        offset = c.offset[c.first[b] : c.first[b + 1]]
        arm = turned(np.tile(c.q[b], (len(offset), 1)), offset)
        np.testing.assert_allclose(g.x[rows, :3], c.position[b] + arm, atol=1e-13)
        np.testing.assert_allclose(
            g.v[rows, :3], c.velocity[b] + np.cross(omega[b], arm), atol=1e-12
        )
        np.testing.assert_allclose(g.spin[rows, :3], np.tile(omega[b], (len(rows), 1)), atol=1e-12)
        np.testing.assert_allclose(g.radius[rows], shapes[b % 5].radii, rtol=0)
        assert g.mass[rows].sum() == pytest.approx(c.mass[b])
    flown = world.time * np.array([0.2 * 18, 1.0]) + [18.0, 0.0]
    np.testing.assert_allclose(c.position[18, :2], flown, atol=1e-12)


# how long a busy machine takes is no part of it
@pytest.mark.filterwarnings("ignore:solver dem. a step of")
@pytest.mark.parametrize("integrator", ["verlet", "rkf45"])
def test_momentum_of_colliding_compound_grains(integrator):
    """Linear and angular momentum of free compound and single grains that collide."""
    rng = np.random.default_rng(1)
    material = stuff()
    world = World(gravity=(0, 0, 0), dt=5e-3, seed=2,
                  solver=DEM(normal="linear", integrator=integrator))  # fmt: skip
    x = 0.13 * np.stack(np.meshgrid(*[np.arange(3)] * 3), -1).reshape(-1, 3)
    v = -5.0 * (x - x.mean(axis=0))
    world.add_clusters(tetrahedron(0.02), x[:10], "random", v[:10], material=material)
    world.add_clusters(rod(0.02, 4), x[10:15], "random", v[10:15], (1, 2, 3), material=material)
    world.add_grains(x[15:], rng.uniform(0.02, 0.04, 12), v[15:], material=material)

    def momenta():
        g, c = world.grains, world.clumps
        rows = np.flatnonzero(g.owner[: g.n] < 0)
        m = g.mass[rows, None]
        inner = turned(c.q, c.L_own[:, :3])
        p = (m * g.velocity[rows]).sum(axis=0) + (c.mass[:, None] * c.velocity).sum(axis=0)
        around = m * np.cross(g.position[rows], g.velocity[rows])
        around = around + g.spin[rows, :3] / g.spin[rows, 3:]
        outer = c.mass[:, None] * np.cross(c.position, c.velocity)
        return p, around.sum(axis=0) + (outer + inner).sum(axis=0)

    world.step()
    (p, around), hits = momenta(), 0
    for _ in range(25):
        world.step()
        hits += world.report.contacts
    p2, around2 = momenta()
    assert hits > 20
    scale = float(world.clumps.mass.sum()) * 0.5
    assert np.abs(p2 - p).max() < 1e-10 * scale
    # RKF45 keeps L only to its tolerance
    assert np.abs(around2 - around).max() < (1e-11 if integrator == "verlet" else 1e-4) * scale


def test_compound_grain_comes_to_rest_on_three_spheres():
    """A tetrahedron falls, lands on a face and carries its weight there."""
    material = stuff(friction=0.5, restitution=0.3)
    world = World(dt=1e-2, solver=DEM(normal="linear"), seed=4)
    floor = world.add_body(Plane(), material=material)
    world.add_clusters(tetrahedron(0.05), [[0, 0, 0.3]], "random", material=material)
    for _ in range(300):
        world.step()
    weight = float(world.clumps.mass[0]) * 9.81
    assert world.report.wall_contacts == 3
    assert world.report.kinetic_energy < 1e-8
    assert floor.force[2] == pytest.approx(-weight, rel=1e-4)


def test_bodies_may_be_removed_while_running():
    """Removing one sphere removes its body; the rest goes on, and mass is accounted for."""
    material = stuff()
    world = World(dt=1e-2, solver=DEM(normal="linear"), seed=4)
    world.add_body(Plane(), material=material)
    world.add_clusters(cube(0.02), [[0, 0, 0.1], [0.2, 0, 0.1], [0.4, 0, 0.1]], material=material)
    world.add_grains([[0, 0.2, 0.1]], 0.02, material=material)
    for _ in range(10):
        world.step()
    mass = world.clumps.mass.copy()
    tag = world.clumps.members[world.clumps.first[1]]
    assert world.remove_grains(tags=[tag]) == 8
    assert world.clumps.n == 2 and world.grains.n == 17
    assert world.mass_removed == pytest.approx(mass[1])
    for _ in range(30):
        world.step()
    assert world.clumps.position[:, 0] == pytest.approx([0.0, 0.4], abs=1e-3)


@pytest.mark.parametrize(
    "boundary",
    ["box", "mesh box", "cylinder", "height field"],
)
def test_floor_force_is_the_weight_in_any_container(boundary):
    """Grains in a box, a mesh of the same box, a cylinder, on a height field: weight to 0.1 %."""
    material = stuff(friction=0.3, restitution=0.2, stiffness=2e4)
    world = World(dt=1e-2, solver=DEM(normal="linear"), seed=4)
    size = (0.2, 0.2, 0.4)
    if boundary == "box":
        shapes = [(Box(size, inside=True), (0, 0, 0.2))]
    elif boundary == "mesh box":
        corner = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (0.0, 0.4)])
        faces = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
                 [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]  # fmt: skip
        shapes = [(Mesh(corner, np.array(faces), inside=True), (0, 0, 0))]
    elif boundary == "cylinder":
        shapes = [(Cylinder(0.11, 0.4, inside=True), (0, 0, 0.2))]
    else:
        rim = np.zeros((21, 21))
        i, j = np.meshgrid(np.arange(21), np.arange(21))
        rim = 0.02 * ((i - 10) ** 2 + (j - 10) ** 2) / 10.0
        shapes = [(HeightField(rim, 0.02, (-0.2, -0.2)), (0, 0, 0))]
    bodies = [world.add_body(s, position=p, material=material) for s, p in shapes]
    x = 0.05 * np.stack(np.meshgrid(*[np.arange(3)] * 3), -1).reshape(-1, 3) - [0.05, 0.05, 0]
    x[:, 2] += 0.1
    x += np.random.default_rng(0).uniform(-2e-3, 2e-3, x.shape)
    world.add_grains(x, 0.02, material=material)
    for _ in range(500):
        world.step()
    mass = float(world.grains.mass.sum())
    assert np.abs(world.grains.velocity).max() < 1e-3  # nothing stops a ball that rolls or spins
    force = sum(body.force for body in bodies)
    assert force == pytest.approx([0, 0, -mass * 9.81], rel=1e-3, abs=1e-3 * mass * 9.81)


def test_rkf45_follows_verlet():
    """Both integrators agree on a bouncing, spinning grain; RKF45's shear is of first order."""
    ends = []
    for integrator in ("verlet", "rkf45"):
        material = stuff(friction=0.3, restitution=0.8)
        world = World(dt=1e-2, solver=DEM(normal="linear", integrator=integrator, tolerance=1e-6,
                                          steps_a_contact=400))  # fmt: skip
        world.add_body(Plane(), material=material)
        world.add_grains([[0, 0, 0.2]], 0.05, (0.5, 0, 0), material=material)
        for _ in range(80):
            world.step()
        ends.append(np.concatenate([world.grains.position[0], world.grains.velocity[0]]))
    assert ends[1] == pytest.approx(ends[0], abs=1e-2)


def test_rkf45_takes_fewer_steps_in_free_flight():
    """Where nothing touches, the adaptive step grows beyond the contact time."""
    world = World(dt=1e-2, solver=DEM(normal="linear", integrator="rkf45"))
    world.add_grains([[0, 0, 0], [1, 0, 0]], 0.05, material=stuff())
    for _ in range(30):
        world.step()
    assert world.report.substeps < 20  # bounded by the reach of the neighbour list
    assert world.grains.velocity[0, 2] == pytest.approx(-9.81 * 0.3)
    assert world.grains.position[0, 2] == pytest.approx(-0.5 * 9.81 * 0.3**2)


def test_rings_interlock_and_mass_is_that_of_a_torus():
    """A ring's mass is that of the torus it stands for, not of its overlapping spheres."""
    one = ring(0.01, 0.05)
    assert one.volume == pytest.approx(2 * math.pi**2 * 0.05 * 0.01**2, rel=1e-9)


def test_p2_world_refuses_compound_grains():
    """Grains of P2 do not turn."""
    with pytest.raises(InputError, match="dem"):
        World().add_clusters(cube(0.02), [[0, 0, 0]])


def test_start_with_overlap_is_refused_or_repaired():
    """Deep overlaps are named; `separate` removes them with a warning."""
    world = World(solver=DEM(normal="linear"))
    world.add_grains([[0, 0, 0], [0, 0, 0.05], [0.01, 0, 0.1]], 0.05)
    with pytest.raises(InputError, match=r"grains 0 and 1 at the start.*separate"):
        world.step()
    with pytest.warns(UserWarning, match="overlap"):
        assert world.separate() <= 0.01
    world.step()
    assert np.abs(world.grains.velocity).max() < 1.0


def test_bodies_that_overlap_at_the_start_are_named():
    """Dynamic bodies by their names, compound grains by number; `separate` cannot move them."""
    world = World(solver=DEM(normal="linear"))
    for name, x in (("left", 0.0), ("right", 0.1)):
        world.add_body(Box((0.2, 0.2, 0.2)), name=name, position=(x, 0, 0), dynamic=True,
                       material=stuff(), particle_radius=0.04)  # fmt: skip
    with pytest.raises(InputError, match=r"body 'left' and body 'right' at the start") as told:
        world.step()
    assert "separate" not in str(told.value)
    world = World(solver=DEM(normal="linear"))
    world.add_clusters(cube(0.05), [[0, 0, 0], [0.1, 0, 0]], material=stuff())
    with pytest.raises(InputError, match=r"compound grain 0 and compound grain 1 at the start"):
        world.step()


def test_a_start_deep_in_a_wall_is_told():
    """Spheres are thrown out of walls that they start in, but not without a word."""
    world = World(solver=DEM(normal="linear"))
    world.add_body(Plane(), name="floor", material=stuff())
    world.add_grains([[0, 0, 0.049], [1, 0, -0.02]], 0.05, material=stuff())
    with pytest.warns(
        UserWarning, match=r"grain 1 starts 1\.4 radii deep in body 'floor'.*1 spheres"
    ):
        world.step()


def test_step_too_large_for_the_stiffness_is_refused():
    """The error names the contact time and the largest step."""
    world = World(solver=DEM(normal="linear", step_size=1e-3))
    world.add_grains([[0, 0, 0]], 0.01, material=stuff(stiffness=1e6))
    with pytest.raises(InputError, match=r"step_size.*contact time"):
        world.step()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"normal": "hooke"}, "unknown normal law"),
        ({"normal": {"law": "hertz", "beta": 2}}, "unknown option"),
        ({"tangential": {"law": "capped", "k_t": -1.0}}, "k_t"),
        ({"rolling": "spinning"}, "unknown rolling law"),
        ({"integrator": "euler"}, "integrator"),
        ({"steps_a_contact": 2}, "steps_a_contact"),
        ({"skin": math.nan}, "skin"),
    ],
)
def test_bad_options_are_named(options, told):
    """Unknown laws, options and values say what is allowed."""
    with pytest.raises(InputError, match=told):
        DEM(**options)


def test_dynamic_bodies_of_any_shape_fall_collide_and_come_to_rest():
    """A box falls on a box on the floor: both rest, and the floor carries both weights."""
    material = stuff(friction=0.5, restitution=0.2)
    world = World(dt=1e-2, solver=DEM(normal="linear"))
    floor = world.add_body(Plane(), material=material)
    boxes = []
    for i in range(2):
        where = (0.01 * i, 0.0, 0.11 + 0.25 * i)
        boxes.append(
            world.add_body(
                Box((0.4, 0.4, 0.2)),
                name=f"box{i}",
                position=where,
                dynamic=True,
                material=material,
                particle_radius=0.04,
            )
        )
    for _ in range(500):
        world.step()
    mass = sum(box.mass for box in boxes)
    assert mass == pytest.approx(2 * 0.4 * 0.4 * 0.2 * material.density)
    assert floor.force[2] == pytest.approx(-mass * 9.81, rel=1e-3)
    assert boxes[0].position[2] == pytest.approx(0.1, abs=0.01)
    # particles of one may sink between those of the other, by less than a radius
    assert boxes[1].position[2] == pytest.approx(0.3, abs=0.03)
    assert np.abs(boxes[1].velocity).max() < 1e-3
    assert boxes[1].rotation[2, 2] > 0.99


@pytest.mark.parametrize("radius", [0.2, 0.0, -0.01, math.nan])
def test_particles_that_do_not_fit_into_a_body_are_refused_by_its_name(radius):
    """The radius by which a dynamic body is covered, not the offset that follows from it."""
    with pytest.raises(InputError, match=r"body 'plate': particle_radius: got .*half"):
        World(solver=DEM()).add_body(Box((0.4, 0.4, 0.1)), name="plate", dynamic=True,
                                     particle_radius=radius)  # fmt: skip


def test_a_free_body_in_dem_keeps_its_momentum_when_grains_hit_it():
    """Two-way coupling: a grain shot at a cylinder gives it what it loses."""
    material = stuff(friction=0.3, restitution=0.8)
    world = World(gravity=(0, 0, 0), dt=1e-3, solver=DEM(normal="linear"))
    target = world.add_body(Cylinder(0.1, 0.3), dynamic=True, material=material,
                            particle_radius=0.03)  # fmt: skip
    world.add_grains([[0.3, 0.02, 0.05]], 0.05, (-2.0, 0, 0), material=material)
    mass = world.grains.mass[world.grains.rows_of([world.grains.next_tag - 1])[0]]
    for _ in range(200):
        world.step()
    v = world.grains.velocity[world.grains.rows_of([world.grains.next_tag - 1])[0]]
    assert target.velocity[0] < -0.05
    assert mass * v + target.momentum == pytest.approx([-2.0 * mass, 0, 0], abs=1e-10 * mass)
    assert np.linalg.norm(target.angular_velocity) > 0.1


def test_measures_count_each_body_once():
    """Momentum, energy and mass of compound grains are those of the bodies, not of the spheres."""
    world = World(gravity=(0, 0, 0), solver=DEM(normal="linear"))
    shape = tetrahedron(0.02)
    world.add_clusters(shape, [[0, 0, 0]], velocity=(1, 2, 3), spin=(0, 0, 4), material=stuff())
    world.add_grains([[1, 0, 0]], 0.05, (0, 0, 1), material=stuff())
    ball = stuff().density * 4 / 3 * math.pi * 0.05**3
    mass = stuff().density * shape.volume
    assert world.grains.mass.sum() == pytest.approx(mass + ball)
    assert measure.momentum(world) == pytest.approx([mass, 2 * mass, 3 * mass + ball])
    moment = stuff().density * shape.inertia[2]
    kinetic = 0.5 * mass * 14 + 0.5 * ball + 0.5 * moment * 16
    assert measure.energy(world).kinetic == pytest.approx(kinetic)
    world.step()
    assert world.report.kinetic_energy == pytest.approx(kinetic)


def test_compound_grains_that_come_after_a_body_have_velocities_of_their_own():
    """One velocity for several of them was an array by columns, which kernels read by rows."""
    world = World(dt=0.01, solver=DEM(normal="linear"))
    world.add_body(Box((0.2, 0.2, 0.2)), position=(5, 5, 5), dynamic=True, particle_radius=0.04)
    world.add_clusters(cube(0.03), [[0, 0, 0], [1, 0, 0], [2, 0, 0]], velocity=(1, 0, 0))
    world.step()
    np.testing.assert_allclose(world.compound_grains.v, 3 * [[1, 0, -9.81 * world.dt]])


def test_measures_count_covered_bodies_once():
    """Their spheres and their clumps do not count beside them."""
    world = World(gravity=(0, 0, 0), solver=DEM(normal="linear"))
    box = world.add_body(
        Box((0.2, 0.3, 0.4)),
        position=(0, 1, 0),
        velocity=(1, 0, 0),
        dynamic=True,
        angular_velocity=(0, 0, 2),
        material=stuff(),
        particle_radius=0.05,
    )
    world.add_clusters(rod(0.02, 3), [[3, 0, 0]], velocity=(0, 2, 0), material=stuff())
    one = world.compound_grains[0]
    for _ in range(2):
        assert measure.momentum(world) == pytest.approx(box.momentum + one.momentum)
        kinetic = box.kinetic_energy + one.kinetic_energy
        assert measure.energy(world).kinetic == pytest.approx(kinetic)
        around = np.array([0, 0, box.angular_momentum[2] - box.mass + 3 * 2 * one.mass])
        assert measure.angular_momentum(world) == pytest.approx(around, abs=1e-12)
        about = measure.angular_momentum(world, (3.0 + world.time, 0.0, 0.0))[2]
        wanted = around[2] - (3.0 + world.time) * 2 * one.mass
        assert about == pytest.approx(wanted)
        report = world.step()
        assert report.kinetic_energy == pytest.approx(kinetic)


def test_stiff_shear_dampers_shorten_the_step():
    """A damper k_t that a light grain could not follow makes the step smaller, not unstable."""
    material = stuff(friction=0.5, restitution=0.3, stiffness=1e3)
    world = World(dt=1e-2, solver=DEM(normal="linear", tangential={"law": "capped", "k_t": 100.0}))
    world.add_body(Plane(), material=material)
    world.add_grains([[0, 0, 0.005]], 0.005, (0.1, 0, 0), material=material)
    for _ in range(5):
        world.step()
        mass = world.grains.mass[0]
        assert world.dt / world.report.substeps < 0.1 * mass / 100.0 * 3.5
    assert abs(world.grains.velocity[0, 0]) <= 0.1


@pytest.mark.parametrize(
    "normal",
    [
        "linear",
        {"law": "hertz", "alpha": 0.0},
        {"law": "power", "k_r": 1e4, "k_d": 300.0, "alpha": 0},
    ],
    ids=["linear", "hertz", "power"],
)
def test_strong_dampers_shorten_the_step(normal):
    """Twenty times critical damping stops grains; with the step of the spring it threw them up."""
    material = stuff(stiffness=1e4, damping=300.0, young_modulus=1e6)
    world = World(dt=1e-2, solver=DEM(normal=normal, steps_a_contact=10))
    world.add_body(Plane(), material=material)
    world.add_grains([[0, 0, 0.02], [0, 0, 0.045]], 0.01, material=material)
    for _ in range(20):
        world.step()
        assert np.abs(world.grains.velocity).max() < 0.7  # what they fall with
    assert world.grains.position[:, 2].max() < 0.045


def test_step_too_large_for_a_damper_is_refused():
    """A step that the spring could take, but not the damper beside it."""
    world = World(solver=DEM(normal="linear", step_size=1e-4))
    world.add_grains([[0, 0, 0]], 0.01, material=stuff(stiffness=1e3, damping=500.0))
    with pytest.raises(InputError, match=r"step_size.*contact time"):
        world.step()


def test_energy_of_an_undamped_gas_of_bodies_d5():
    """Tetrahedra, rods and a covered box in a box: less than 1 % off in 10,000 steps."""
    rng = np.random.default_rng(3)
    k, r, wide = 1e4, 0.03, 1.0
    material = stuff(friction=0.0, restitution=1.0, stiffness=k)
    world = World(gravity=(0, 0, 0), dt=1e-2, seed=3,
                  solver=DEM(normal="linear", steps_a_contact=40))  # fmt: skip
    world.add_body(Box((wide,) * 3, inside=True), material=material)
    grid = np.stack(np.meshgrid(*[np.arange(4)] * 3), -1).reshape(-1, 3)
    where = 0.2 * grid - 0.3
    world.add_body(Box((0.15, 0.15, 0.15)), dynamic=True, position=where[0], velocity=(1, 1, 1),
                   angular_velocity=(2, 1, 0), material=material, particle_radius=r)  # fmt: skip
    for cluster, some in ((tetrahedron(r), where[1:40]), (rod(r, 3), where[40:])):
        speed, spin = rng.normal(0, 1.0, (len(some), 3)), rng.normal(0, 5.0, (len(some), 3))
        world.add_clusters(cluster, some, "random", speed, spin, material)

    def energy():
        x = world.grains.position
        deep = np.maximum(0.0, r - (0.5 * wide - np.abs(x)))
        return (
            world.report.kinetic_energy
            + world.solver.elastic_energy(world)
            + 0.5 * k * float((deep**2).sum())
        )

    world.step()
    before, steps, most, hits = energy(), 0, 0.0, 0
    while steps < 10_000:
        world.step()
        steps, hits = steps + world.report.substeps, hits + world.report.contacts
        most = max(most, abs(energy() / before - 1.0))
    assert hits > 100
    assert most < 0.01


def test_shear_is_remembered_while_two_touch_and_no_longer():
    """(19) begins at the first touch: a spring that was loaded is gone after the two had parted.

    Far away a crowd is moving about, so that spheres are sorted and lists made anew meanwhile.
    """
    material = stuff(friction=5.0, restitution=1.0, stiffness=1e4)
    law = {"law": "history", "stiffness": 1.0, "damping": 0.0}

    def push(speeds, times):
        """Return the shear force (N) on a ball after it was moved at these speeds (m/s)."""
        world = World(gravity=(0, 0, 0), dt=1e-3, solver=DEM(normal="linear", tangential=law))
        heavy = material.replace(density=1e9)  # so that contacts do not slow the two
        tags = world.add_grains([[0, 0, 0], [0, 0, 0.098]], 0.05, material=heavy)
        rng = np.random.default_rng(1)
        crowd = np.stack(np.meshgrid(*[np.arange(4.0)] * 3), -1).reshape(-1, 3)
        world.add_grains([5, 0, 0] + 0.12 * crowd, 0.05, rng.normal(0, 3, (64, 3)),
                         material=material)  # fmt: skip
        rebuilt = 0
        for speed, steps in zip(speeds, times, strict=True):
            for _ in range(steps):
                rows = world.grains.rows_of(tags)
                world.grains.velocity[rows] = [[0, 0, 0], speed]
                world.grains.spin[rows, :3] = 0.0
                world.step()
                rebuilt += world.report.rebuilt
        assert rebuilt > 3
        return world.grains.force[world.grains.rows_of(tags)[1], 0]

    along, up, down = (0.01, 0, 0), (0, 0, 0.5), (0, 0, -0.5)
    held = push([along, (0, 0, 0)], [20, 20])
    assert held == pytest.approx(-1e4 * 0.01 * 0.020, rel=0.1)  # N: 0.2 mm of way
    lost = push([along, up, down], [20, 10, 10])
    assert abs(lost) < 0.1 * abs(held)
