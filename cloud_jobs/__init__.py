"""Uploaded session logs become tables: each event once, each loss visible.

This room runs in the cloud (or on a laptop), far from the gateway. It shares two file formats with
the device (docs/formats/session-log.md and docs/formats/readings.md) and not one line of code:
a mistake in the writer must not be repeated by its reader.
"""
