"""What is measured of commits, for the status."""


class CommitMetrics:
    """Counts, sizes and durations of commits since the start; durations in seconds."""

    def __init__(self) -> None:
        self.batches = 0
        self.blob_bytes = 0
        self.seconds_total = 0.0
        self.seconds_max = 0.0

    def add(self, seconds: float, blob_bytes: int) -> None:
        """Count one commit."""
        self.batches += 1
        self.blob_bytes += blob_bytes
        self.seconds_total += seconds
        self.seconds_max = max(self.seconds_max, seconds)

    def mean_ms(self) -> float:
        """Return the mean duration of a commit in milliseconds."""
        return 1000 * self.seconds_total / self.batches if self.batches else 0.0
