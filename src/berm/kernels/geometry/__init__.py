"""Distances to shapes, search grids of meshes, rotations."""
