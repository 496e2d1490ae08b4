"""[Bell05] Particle-based simulation of granular materials: Figs 1, 3 to 9 and Table 1.

One file a figure, which registers itself; Figs 7 and 8 (avalanche, bulldozer) stand in theirs.
Not stated in print, so chosen here: sizes, friction, restitution, k_t, the damping exponent of the
scenes (1/4: restitution as given), frames of 1/30 s. Young's modulus is: 10 MPa, 100 MPa for rings.
"""

from berm.apps.figures.base import paper

FIGURES = paper("bell2005")
