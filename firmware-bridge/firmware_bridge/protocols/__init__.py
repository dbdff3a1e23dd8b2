"""Protocols of serial devices. Each protocol decodes received bytes into frames of measurements.

Decoders and pollers have no access to ports, clocks or files. Each protocol has a file with its
settings and its decoder or poller, and a line in `table.py`. No other package depends on how a
device encodes its data. Damaged bytes are counted by reason. They do not cause an error on the
port, and do not affect the next valid frame. All lengths are limited, so endless noise takes a
limited amount of memory.
"""
