"""Which grains are near each other, and the order in which they are seen to."""
