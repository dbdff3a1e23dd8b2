"""Wrong passwords within the last hour, from a counter that only grows. Pure."""

from collections import deque
from typing import Final

from api.alarms.condition import Condition, Level
from api.models.broker import BrokerStatus
from api.wording import counted_of

WINDOW_SECONDS: Final = 3600.0
STEP_SECONDS: Final = 60.0
"""Between two counts that are kept: 60 in the window."""
_ERRORS: Final = ("bad_user_name_or_password", "not_authorized")


class Guessing:
    """The counts of the last hour. A broker that has restarted counts from 0 again."""

    def __init__(self) -> None:
        self._counts: deque[tuple[float, int]] = deque()
        self._boot: str | None = None

    def conditions(self, broker: BrokerStatus, limit: int, *, now: float) -> tuple[Condition, ...]:
        """Take the present count; return a condition if too many passwords were wrong."""
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
