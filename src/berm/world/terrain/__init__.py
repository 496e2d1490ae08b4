"""Terrain: ground in columns, grains around tools, and a ledger of both."""
