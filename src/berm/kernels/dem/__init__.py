"""Discrete elements: forces of contacts in blocks, and the motion of spheres and bodies."""
