"""Segment files: how one is named, written, verified and chained (docs/formats/session-log.md)."""
