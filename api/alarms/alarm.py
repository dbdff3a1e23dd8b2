"""Record of an alarm: its condition, when it began and ended, and who acknowledged it.

This module does no I/O.
"""

from dataclasses import dataclass
from typing import NamedTuple

from api.alarms.conditions.condition import Condition, Level


class Key(NamedTuple):
    """Identity of an active alarm: the identifier of the alarm's kind, and the subject."""

    id: str
    subject: str


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """An alarm: a condition of the gateway with its history.

    Times are in milliseconds since 1970-01-01 UTC. An alarm is active while its condition is true.
    If the alarm is about lost messages or readings, it stays active until someone acknowledges it.
    """

    id: str
    subject: str
    level: Level
    sentence: str
    fix: str
    since_ms: int
    changed_ms: int
    """Time at which the alarm was last raised, ended, acknowledged or changed in level."""
    ended_ms: int | None = None
    """Time at which the condition ended, or None while it is true."""
    cleared_ms: int | None = None
    """Time at which the alarm was cleared, or None while it is active."""
    acknowledged_by: str | None = None
    acknowledged_ms: int | None = None

    @property
    def key(self) -> Key:
        """Return the alarm's identity: its kind's identifier and its subject."""
        return Key(self.id, self.subject)

    @property
    def is_present(self) -> bool:
        """Return True while the alarm's condition is true."""
        return self.ended_ms is None

    @property
    def is_acknowledged(self) -> bool:
        """Return True if the alarm has been acknowledged."""
        return self.acknowledged_by is not None

    @property
    def condition(self) -> Condition:
        """Return the alarm's condition, with the level and the text as last observed."""
        return Condition(self.id, self.subject, self.level, self.sentence, self.fix)
