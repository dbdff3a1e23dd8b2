"""Protocols of serial devices. Each protocol decodes received bytes into frames of measurements.

This package has no access to ports, clocks or files. Each protocol is one file, with its settings
and its decoder or poller, and has one line in `table.py`. No other package needs to know how a
device encodes its data. Damaged bytes are only counted, by reason. They do not cause an error on
the port, and do not affect the next valid frame. All lengths are bounded, so endless noise takes a
fixed amount of memory.
"""
