"""Jitted loops on flat arrays: no classes, no I/O. Imports nothing from the rest of berm."""
