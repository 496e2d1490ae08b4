"""Velocity time stepping: rows, laws and iterations, [Francu14]."""
