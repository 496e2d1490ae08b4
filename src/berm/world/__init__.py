"""The world: owns the arrays, runs the step, pours and removes grains, measures."""
