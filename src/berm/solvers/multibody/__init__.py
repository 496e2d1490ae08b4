"""Rigid bodies, joints and contacts between them, under every solver."""
