"""Rate-limited log lines about rejected requests: one a minute, with a count of the rest. Pure."""

from api import limits


class Refusals:
    """Counter of rejected requests of one kind. Times are seconds of one monotonic clock."""

    def __init__(self) -> None:
        self._logged: float | None = None
        self._unlogged = 0
        self.count = 0
        """Number of rejected requests so far."""

    def line_of(self, what: str, now: float) -> str | None:
        """Count a rejection.

        Return the line to log, or None if a line was logged within a minute.
        """
        self.count += 1
        if self._logged is not None and now - self._logged < limits.REFUSALS_LOGGED_SECONDS:
            self._unlogged += 1
            return None
        more = f" ({self._unlogged:,} more since the last such line)" if self._unlogged else ""
        self._logged, self._unlogged = now, 0
        return what + more
