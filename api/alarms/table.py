"""The table of alarms, and the rules for when an alarm begins, ends and is cleared.

The diagram shows the states of an alarm (``present``, ``ended`` and ``cleared``). Each arrow is
labelled with the cause of the change. ``absent`` means that the condition has been false for
``CLEAR_SECONDS``. ``a loss`` means that the alarm reports lost messages or readings, and has not
been acknowledged. This module does no I/O.

    condition seen ──────────> present ── absent for CLEAR_SECONDS ──> cleared
                                │  ^                                     ^
                                │  └── seen again ──┐                    │
                                └─ a loss, absent ─> ended ── acknowledged

An alarm about lost messages or readings stays active until it is acknowledged, even if its
condition has ended. If a condition ends and returns within ``CLEAR_SECONDS``, no new alarm begins.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from api.alarms.alarm import Alarm, Key
from api.alarms.conditions.condition import Condition
from api.alarms.kinds import kind_of

CLEAR_SECONDS: Final = 60.0
"""Seconds for which a condition must be absent before its alarm ends.

A condition caused by a loose contact returns sooner.
"""
ALARMS_MAX: Final = 200
"""Active alarms, at most; 200 take about 100 kB.

If there are more, they share one cause, which is among the first alarms.
"""


class AlarmTable:
    """The active alarms, each identified by its kind and its subject.

    The parameter `now` of the methods is a monotonic time in seconds.
    """

    def __init__(self, alarms: Iterable[Alarm] = ()) -> None:
        """Create the table with the alarms that were active in an earlier run."""
        self._alarms = {alarm.key: alarm for alarm in alarms}
        self._absent_since: dict[Key, float] = {}
        self.not_listed = 0
        """Number of conditions beyond ``ALARMS_MAX`` at the latest update."""

    def add_stored(self, alarms: Iterable[Alarm]) -> None:
        """Add the active alarms of an earlier run, which were read after this run has begun.

        A stored alarm replaces the same alarm of this run, which has begun later. An
        acknowledgement in this run is kept, and the next update refreshes the text.
        """
        for stored in alarms:
            alarm = self._alarms.get(stored.key)
            if alarm is None or not alarm.is_acknowledged:
                self._alarms[stored.key] = stored

    def active(self) -> list[Alarm]:
        """Return the active alarms, the most important first.

        Alarms whose condition is still true come before the other alarms. Both groups are sorted by
        severity. Alarms of equal severity are sorted from newest to oldest.
        """
        return sorted(
            self._alarms.values(),
            key=lambda alarm: (not alarm.is_present, -alarm.level, -alarm.since_ms, alarm.key),
        )

    def update(self, conditions: Sequence[Condition], *, now: float, now_ms: int) -> list[Alarm]:
        """Update the alarms to match the conditions that are true now.

        Return the alarms that this call has raised, changed or ended.
        """
        seen = {Key(each.id, each.subject): each for each in conditions}
        changed = [
            alarm
            for key, condition in seen.items()
            if (alarm := self._raise_or_refresh(key, condition, now_ms)) is not None
        ]
        self.not_listed = len(seen.keys() - self._alarms.keys())
        for key in self._alarms.keys() - seen.keys():
            alarm = self._end_if_absent(key, now, now_ms)
            if alarm is not None:
                changed.append(alarm)
        return changed

    def acknowledge(self, key: Key, *, by: str, now_ms: int) -> Alarm | None:
        """Acknowledge the alarm with the kind and subject in `key`.

        The keyword argument `by` is the name of the person or program that acknowledges the alarm.
        Return the changed alarm, or None if the alarm is not active.
        """
        alarm = self._alarms.get(key)
        if alarm is None:
            return None
        if not alarm.is_acknowledged:
            alarm = replace(alarm, acknowledged_by=by, acknowledged_ms=now_ms, changed_ms=now_ms)
            self._alarms[key] = alarm
        return alarm if alarm.is_present else self._clear(alarm, now_ms)

    def _raise_or_refresh(self, key: Key, condition: Condition, now_ms: int) -> Alarm | None:
        """Raise or update the alarm for a condition that is true now.

        Return the alarm if it is new, if its level has changed, or if its condition had ended and
        has now returned. Otherwise, return None.
        """
        self._absent_since.pop(key, None)
        before = self._alarms.get(key)
        if before is None:
            if len(self._alarms) >= ALARMS_MAX:
                return None
            alarm = Alarm(**vars(condition), since_ms=now_ms, changed_ms=now_ms)
            self._alarms[key] = alarm
            return alarm
        alarm = replace(before, **vars(condition), ended_ms=None)
        is_change = condition.level != before.level or not before.is_present
        if is_change:
            alarm = replace(alarm, changed_ms=now_ms)
        if condition.level > before.level or not before.is_present:
            alarm = replace(alarm, acknowledged_by=None, acknowledged_ms=None)
        self._alarms[key] = alarm
        return alarm if is_change else None

    def _end_if_absent(self, key: Key, now: float, now_ms: int) -> Alarm | None:
        """End an alarm if its condition has been false for at least CLEAR_SECONDS.

        The alarm is also cleared, unless it reports a loss and has not been acknowledged. Return
        the changed alarm, or None if it has not changed.
        """
        alarm = self._alarms[key]
        if not alarm.is_present or now - self._absent_since.setdefault(key, now) < CLEAR_SECONDS:
            return None
        del self._absent_since[key]
        alarm = replace(alarm, ended_ms=now_ms, changed_ms=now_ms)
        self._alarms[key] = alarm
        if kind_of(key.id).is_loss and not alarm.is_acknowledged:
            return alarm
        return self._clear(alarm, now_ms)

    def _clear(self, alarm: Alarm, now_ms: int) -> Alarm:
        del self._alarms[alarm.key]
        return replace(alarm, cleared_ms=now_ms, changed_ms=now_ms)
