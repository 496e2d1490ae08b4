"""A page without a screen: reads frames as they come and acknowledges each; one line in the end.

python benchmarks/streaming/page.py ADDRESS COLOUR   (started by bench.py, ended by its socket)
"""

from __future__ import annotations

import json
import sys

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect


def watch(address: str, colour: str) -> tuple[int, int]:
    """Return frames and bytes that came until the server closed."""
    base = address.rstrip("/")
    frames = size = 0
    url = base.replace("http://", "ws://") + "/ws"
    with connect(url, origin=base, max_size=None) as socket:
        socket.send(json.dumps({"type": "colour", "by": colour}))
        try:
            while True:
                content = socket.recv()
                if not isinstance(content, bytes):
                    message = json.loads(content)
                    if message["type"] == "plots":
                        socket.send(json.dumps({"type": "plots", "seen": message["version"]}))
                    continue
                frames, size = frames + 1, size + len(content)
                length = int.from_bytes(content[4:8], "little")
                seq = json.loads(content[8 : 8 + length])["seq"]
                socket.send(json.dumps({"type": "ack", "seq": seq}))
        except ConnectionClosed:
            return frames, size


if __name__ == "__main__":
    print(*watch(sys.argv[1], sys.argv[2]), flush=True)
