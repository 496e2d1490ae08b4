"""Contacts of grains with the shapes of bodies."""
