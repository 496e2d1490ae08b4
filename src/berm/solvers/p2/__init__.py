"""Parallel particles, [Holz14]."""
