"""P2: one sweep, one average, one pass after the other, [Holz14]."""
