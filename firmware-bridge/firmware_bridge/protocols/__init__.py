"""From the bytes of a line to frames of measurements; no port, no clock, no file.

Why this room exists: each kind of device has its own form on the line, and no other room has to
know it. A protocol is one file, with its settings and its decoder or poller, and one line in
`table.py`. Damage is counted by reason, never raised, and never costs the next good frame. Lengths
are bounded, so that a line that sends noise without end takes a fixed amount of memory.
"""
