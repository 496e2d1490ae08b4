"""Columns of soil, the zone where they are grains, and soil that tools and wheels meet."""
