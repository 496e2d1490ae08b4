"""[Holz14] Parallel Particles: Figs 1 to 7.

Not stated in print, so chosen here: dt = 1/60 s, radii 16-24 mm, gravel's stiffness 1e5 N/m and
restitution 0.2, static friction equal to kinetic, a spout of 0.12 m radius 0.56 m above the floor.
"""

from berm.apps.figures.base import paper

FIGURES = paper("holz2014")
