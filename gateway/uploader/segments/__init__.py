"""Segment files of the session log: their names, writing, verification, and the chain of segments.

In the chain, each segment refers to the previous one (docs/formats/session-log.md).
"""
