"""Cloth: links, faces, and cloth that meets itself."""
