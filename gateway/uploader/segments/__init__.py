"""Segment files: names, writing, verification, and the chain of segments.

Each segment refers to the previous one. See docs/formats/session-log.md.
"""
