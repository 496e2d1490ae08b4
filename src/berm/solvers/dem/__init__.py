"""Discrete elements, [Bell05]."""
