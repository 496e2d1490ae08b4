"""A world or a recording as others see it: stage, moments, triangles, colours. Nothing is drawn."""
