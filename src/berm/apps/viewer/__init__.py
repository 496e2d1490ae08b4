"""The viewer: a local server and the page in which a world or a recording is seen."""
