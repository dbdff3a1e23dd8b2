"""Detection of password guessing: wrong passwords within the last hour. Pure.

The number is derived from a counter of the broker that only increases.
"""

from collections import deque
from typing import Final

from api.alarms.conditions.condition import Condition, Level
from api.models.broker import BrokerStatus
from api.wording import counted_of

WINDOW_SECONDS: Final = 3600.0
STEP_SECONDS: Final = 60.0
"""Seconds between two stored counts; a window has 60 of them."""
_ERRORS: Final = ("bad_user_name_or_password", "not_authorized")


class Guessing:
    """Failed logins of the last hour. The counts are discarded when the broker has restarted."""

    def __init__(self) -> None:
        self._counts: deque[tuple[float, int]] = deque()
        self._boot: str | None = None

    def conditions(self, broker: BrokerStatus, limit: int, *, now: float) -> tuple[Condition, ...]:
        """Record the present count.

        Return a condition if at least `limit` logins were refused recently.
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
