"""What happened: the session log leaves the device.

One reason: turn the broker's journal into sealed segments (docs/formats/session-log.md) and bring
them to their target, in a process of its own that may crash, starve or be killed at any moment
without a lost or a doubled event. The broker is the only writer of the journal; this room reads it
and says through the control socket how far it has got.
"""
