"""Rate-limited log lines about rejected requests: one a minute, with a count of the others.

Pure.
"""

from api import limits


class Refusals:
    """Rejections of one kind. Times are seconds of one monotonic clock."""

    def __init__(self) -> None:
        self._logged: float | None = None
        self._unlogged = 0
        self.count = 0
        """Number of all refusals."""

    def line_of(self, what: str, now: float) -> str | None:
        """Count a rejection. Return the line to log, or None if it is only counted."""
        self.count += 1
        if self._logged is not None and now - self._logged < limits.REFUSALS_LOGGED_SECONDS:
            self._unlogged += 1
            return None
        more = f" ({self._unlogged:,} more since the last such line)" if self._unlogged else ""
        self._logged, self._unlogged = now, 0
        return what + more
