"""What it costs to be looked at: bytes and milliseconds a frame, and what the step notices."""

import os

# as the command line does: threads that wait for each other sleep early, and leave the viewer room
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
