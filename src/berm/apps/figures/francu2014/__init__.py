"""[Francu14] An Improved Jacobi Solver for Particle Simulation: Figs 1-10 and Table 1.

Not stated in print, so chosen here: sizes of cloth (10 m; 2 m on the sphere) and grains (20 mm
radius), a cloth without bending, warm start off (the paper tried it only as a further
optimisation), Gauss-Seidel without over-relaxation where it is compared.
"""

from berm.apps.figures.base import paper

FIGURES = paper("francu2014")
