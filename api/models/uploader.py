"""The uploader's report: the open segment, segments waiting for upload, and uploaded segments."""

from pydantic import Field

from api.models.values import Count, Milliseconds, Reported


class OpenSegment(Reported):
    segment: Count
    events: Count


class SegmentCount(Reported):
    count: Count
    bytes: Count


class UploaderStatus(Reported):
    target: str
    """The place to which segments are uploaded."""
    open: OpenSegment
    sealed: SegmentCount
    """Segments that wait to be uploaded."""
    sent: SegmentCount
    """Segments uploaded."""
    last_sealed_sequence: Count
    last_upload_ms: Milliseconds | None
    failing_since_ms: Milliseconds | None
    error: str | None
    public_keys: list[str] = Field(default_factory=list)
    """Public keys for the signatures of segments, newest last.

    Several if a private key was lost.
    """
