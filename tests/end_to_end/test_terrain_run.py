"""`berm run` on a scene file with terrain: the ledger is told, and nothing hidden is recorded."""

from __future__ import annotations

import json

import numpy as np

from berm.io.recording import Recording

SCENE = """\
terrain:
  source: {kind: flat, size: [3, 2]}
  layers: [{soil: topsoil, thickness: 0.1}, {soil: clay}]
  tools: [{body: blade}]
bodies:
  - name: blade
    shape: {kind: box, size: [0.06, 0.8, 0.5]}
    position: [-0.9, 0, 0.1]
    motion: {kind: linear, velocity: [0.5, 0, 0]}
run: {seconds: 0.4}
"""


def test_the_ledger_is_printed_and_kept(typed, tmp_path):
    (tmp_path / "dig.yaml").write_text(SCENE)
    done = typed("run", tmp_path / "dig.yaml", "-o", tmp_path / "out", "--no-pictures")
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    ledger = summary["terrain"]
    assert list(ledger) == ["topsoil", "clay"]
    for name, where in ledger.items():
        assert f"{where['ground']:,.3f}" in done.stdout and name in done.stdout
        assert where["error"] == 0.0 and where["live"] > 0.0
    with Recording(tmp_path / "out" / "recording.h5") as film:
        last = film.frame(-1)
        np.testing.assert_array_equal(
            last.ground.ledger["live"], [where["live"] for where in ledger.values()]
        )
        assert len(last) < summary["grains"]  # without the shell
