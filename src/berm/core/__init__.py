"""Plain data: grains, bodies, shapes, materials, motions, reports, errors. Imports no kernels."""
