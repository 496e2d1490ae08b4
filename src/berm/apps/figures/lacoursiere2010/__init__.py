"""[Lacoursiere10] Fast and stable simulation of granular matter and machines: Figs 1 to 3.

One file a figure, which registers itself. Printed are the numbers of bodies (500 rocks as composite
spheres of 0.6 m on average, 30 of them in Fig. 1; a tractor of 12 bodies and 15 joints), the step
of 1/60 s and the costs; not the thresholds, the friction and what the machine does, chosen here.
The fluid of Figs 1 and 3 comes with berm's fluid.
"""

from berm.apps.figures.base import paper

FIGURES = paper("lacoursiere2010")
