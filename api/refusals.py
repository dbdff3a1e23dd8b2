"""Log lines about what strangers do: one a minute, with the number of those that had none. Pure."""

from api import limits


class Refusals:
    """Of one kind; times are seconds of one monotonic clock."""

    def __init__(self) -> None:
        self._logged: float | None = None
        self._unlogged = 0
        self.count = 0
        """All that there were."""

    def line_of(self, what: str, now: float) -> str | None:
        """Return the line to log about one more; None: it is only counted."""
        self.count += 1
        if self._logged is not None and now - self._logged < limits.REFUSALS_LOGGED_SECONDS:
            self._unlogged += 1
            return None
        more = f" ({self._unlogged:,} more since the last such line)" if self._unlogged else ""
        self._logged, self._unlogged = now, 0
        return what + more
