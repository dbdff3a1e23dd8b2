"""Segment files: naming, writing, verification and chaining (docs/formats/session-log.md)."""
