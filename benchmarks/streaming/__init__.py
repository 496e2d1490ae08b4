"""What it costs to be looked at: bytes and milliseconds a frame, and what the step notices."""
