"""Protocols of serial devices. Each protocol decodes received bytes into frames of measurements.

This package has no access to ports, clocks or files. Each protocol has one file, which contains its
settings and its decoder or poller, and one line in `table.py`. No other package contains details of
a device's encoding. Damaged bytes are only counted, by reason. They do not cause an error on the
port, and do not affect the next valid frame. All lengths are limited, so endless noise takes a
fixed amount of memory.
"""
