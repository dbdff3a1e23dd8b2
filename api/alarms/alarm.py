"""An alarm: a condition with its times, and who acknowledged it. Pure."""

from dataclasses import dataclass
from typing import NamedTuple

from api.alarms.condition import Condition, Level


class Key(NamedTuple):
    """Identity of an alarm while it is active."""

    id: str
    subject: str


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """Times are milliseconds since 1970-01-01 UTC, by the gateway's clock.

    It is active while its condition is true, and after a loss until it is acknowledged.
    """

    id: str
    subject: str
    level: Level
    sentence: str
    fix: str
    since_ms: int
    changed_ms: int
    """Time at which the alarm was raised, changed its level, ended or was acknowledged."""
    ended_ms: int | None = None
    """Time at which the condition ended; None while it is true."""
    cleared_ms: int | None = None
    """Time at which the alarm was cleared; None while it is active."""
    acknowledged_by: str | None = None
    acknowledged_ms: int | None = None

    @property
    def key(self) -> Key:
        """Return the identity."""
        return Key(self.id, self.subject)

    @property
    def is_present(self) -> bool:
        """Return True while the condition is true."""
        return self.ended_ms is None

    @property
    def is_acknowledged(self) -> bool:
        """Return True if a person has acknowledged it."""
        return self.acknowledged_by is not None

    @property
    def condition(self) -> Condition:
        """Return the condition as it was last seen."""
        return Condition(self.id, self.subject, self.level, self.sentence, self.fix)
