"""Delay of alarm conditions: some kinds count only after they have lasted a while. Pure."""

from collections.abc import Mapping, Sequence

from api.alarms.alarm import Key
from api.alarms.condition import Condition


class Patience:
    """Withholds conditions of some kinds until they have lasted long enough.

    Times are in seconds.
    """

    def __init__(self, seconds_by_id: Mapping[str, float]) -> None:
        self._seconds_by_id = seconds_by_id
        self._since: dict[Key, float] = {}

    def lasting(self, conditions: Sequence[Condition], *, now: float) -> list[Condition]:
        """Return the conditions that have lasted long enough to count."""
        waiting = {
            Key(each.id, each.subject) for each in conditions if each.id in self._seconds_by_id
        }
        self._since = {key: self._since.get(key, now) for key in waiting}
        return [each for each in conditions if self._is_lasting(each, now)]

    def _is_lasting(self, condition: Condition, now: float) -> bool:
        seconds = self._seconds_by_id.get(condition.id)
        return seconds is None or now - self._since[Key(condition.id, condition.subject)] >= seconds
