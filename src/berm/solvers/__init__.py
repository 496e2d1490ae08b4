"""One method a file; each owns its contact lists and reads and writes the world's arrays."""
