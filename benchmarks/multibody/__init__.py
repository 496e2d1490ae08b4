"""Mechanisms and heaps of rigid bodies, beside MuJoCo in one run."""
