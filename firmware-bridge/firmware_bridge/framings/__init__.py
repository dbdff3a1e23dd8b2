"""From the bytes of a serial port to frames of measurements; no port, no clock, no file.

Each framing takes bytes in any pieces and gives back the frames complete so far. Damage is
counted by reason, never raised, and never costs the next good frame. Lengths are bounded, so that
a port that sends rubbish for ever costs a fixed amount of memory.
"""
