"""The one exception that this room's callers handle."""

from __future__ import annotations


class IngestError(RuntimeError):
    """The run cannot go on. The text is for a person and ends with the mend."""
