"""Discrete elements: beside LAMMPS, and compound grains beside single ones."""
