"""Velocity time stepping and sequential positions, [Francu14]."""
