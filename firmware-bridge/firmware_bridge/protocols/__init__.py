"""Protocols of serial devices. A protocol decodes received bytes into frames of measurements.

Each protocol has a module with its settings and its decoder or poller, and an entry in `table.py`.
No other package depends on how a device encodes its data. Decoders and pollers do not access ports,
clocks or files. Damaged frames are counted by reason. They do not cause an error on the port, and
do not affect the next valid frame. The lengths of frames and buffers are limited, so endless noise
takes a limited amount of memory.
"""
