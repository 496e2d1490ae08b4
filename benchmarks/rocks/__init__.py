"""A pile of rocks, dropped and left at rest, in berm and in other engines."""
