"""What the uploader reports: the open segment, those that wait, and those that are sent."""

from api.models.values import Count, Milliseconds, Told


class OpenSegment(Told):
    segment: Count
    events: Count


class SegmentCount(Told):
    count: Count
    bytes: Count


class UploaderStatus(Told):
    target: str
    """Where segments go."""
    open: OpenSegment
    sealed: SegmentCount
    """Segments that wait to be uploaded."""
    sent: SegmentCount
    """Segments uploaded."""
    last_sealed_sequence: Count
    last_upload_ms: Milliseconds | None
    failing_since_ms: Milliseconds | None
    error: str | None
