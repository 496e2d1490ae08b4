"""Scene files, recordings, checkpoints and pictures."""
