"""Detects password guessing: too many wrong passwords within the last hour.

The broker reports only the total number of failed logins since its start. The number within the
last hour is the difference between two totals. This module does no I/O.
"""

from collections import deque
from typing import Final

from api.alarms.conditions.condition import Condition, Level
from api.models.broker import BrokerStatus
from api.wording import counted_of

WINDOW_SECONDS: Final = 3600.0
STEP_SECONDS: Final = 60.0
"""Seconds between two stored counts; 60 such steps are the window of an hour."""
_ERRORS: Final = ("bad_user_name_or_password", "not_authorized")


class Guessing:
    """Counter of failed logins within the last hour.

    The count returns to 0 when the broker restarts.
    """

    def __init__(self) -> None:
        self._counts: deque[tuple[float, int]] = deque()
        self._boot: str | None = None

    def conditions(self, broker: BrokerStatus, limit: int, *, now: float) -> tuple[Condition, ...]:
        """Record the number of failed logins, and return a condition if there are too many.

        The result contains one condition if at least `limit` logins failed within the last hour.
        Otherwise, it is empty. `broker` contains the broker's counters. The keyword argument `now`
        is a monotonic time in seconds.
        """
        total = sum(broker.errors.get(name, 0) for name in _ERRORS)
        if broker.boot != self._boot:
            self._boot = broker.boot
            self._counts.clear()
        if not self._counts or now - self._counts[-1][0] >= STEP_SECONDS:
            self._counts.append((now, total))
        while now - self._counts[0][0] > WINDOW_SECONDS:
            self._counts.popleft()
        recent = total - self._counts[0][1]
        if recent < limit:
            return ()
        return (
            Condition(
                "password_guessing", "logins", Level.ATTENTION,
                f"{counted_of(recent, 'login')} of clients were refused in the last hour.",
                "The broker's log has their addresses: ban them (oncegate ctl ban), or correct the "
                "password of a device of yours.",
            ),
        )  # fmt: skip
