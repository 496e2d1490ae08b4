"""Rigid bodies: motion, contacts, joints, and solvers of their constraints."""
