"""What the tier "fast" of terrain costs."""
