"""The same settled box of grains in berm and in other simulators: run.py."""
