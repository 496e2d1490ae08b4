"""Cloth as rows of the loop that all else is solved in."""
