"""Contacts of grains with bodies, found and kept."""
