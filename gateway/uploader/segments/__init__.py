"""Writes, names and verifies the segment files of the session log, and links them in a chain.

In the chain, each segment refers to the previous one (docs/formats/session-log.md).
"""
