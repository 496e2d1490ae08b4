"""What machines are made of; `berm.stage.colours` knows these names."""

from __future__ import annotations

from berm.core.materials import material

PAINT = material("steel").replace(name="machine yellow")
DARK = material("steel").replace(name="machine grey")
CAB = material("steel").replace(name="cab")
BLADE = material("steel").replace(name="worn steel")
# Tyres of this size have about 6e5 N/m [M]. These are stiffer: with that the loader pitches so far
# under load that it tips 6 % earlier than the statics of its masses say. Slip: friction is full at
# a tenth of the rolling speed.
TYRE = material("steel").replace(
    name="tyre", density=1100.0, friction_static=0.9, friction_kinetic=0.8,
    rolling_friction=0.0, contact_compliance=1e-7, contact_damping=0.05, slip=0.1,
    restitution=None, damping=1e3,  # a tyre bounces by its compliance
    source="rubber on firm ground 0.7 to 0.9: Wong, Theory of Ground Vehicles, Tab. 1.3",
)  # fmt: skip
PAD = material("steel").replace(
    name="track", friction_static=0.8, friction_kinetic=0.7,
    source="tracks on firm ground 0.6 to 0.9: Wong, Theory of Ground Vehicles",
)  # fmt: skip
