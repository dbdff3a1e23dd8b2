"""Alarms as the REST interface returns them, and the arguments for acknowledging an alarm."""

from typing import Annotated, Literal

from pydantic import Field

from api.models.actions import Given
from api.models.values import Count, Milliseconds, Reported

LevelWord = Literal["info", "warning", "critical"]
State = Literal["active", "cleared"]


class AlarmReport(Reported):
    """An alarm, as the REST interface returns it. Times are from the gateway's clock."""

    id: str
    """Kind of the alarm: `disk_low`, `port_lost`, `messages_dropped`, ..."""
    title: str
    """Name of the kind, for people."""
    subject: str
    """The port, client, disk or component that the alarm is about."""
    level: LevelWord
    state: State
    """`active` while the condition is true.

    An alarm about a loss stays active until acknowledged.
    """
    sentence: str
    fix: str
    """How to remedy the condition; may be empty."""
    since_ms: Milliseconds
    changed_ms: Milliseconds
    """Time at which the alarm was last raised, ended, acknowledged or changed in level."""
    ended_ms: Milliseconds | None
    """Time at which the condition ended; null while it is true."""
    cleared_ms: Milliseconds | None
    """Time at which the alarm was cleared; null while it is active."""
    acknowledged_by: str | None
    acknowledged_ms: Milliseconds | None


class AlarmPage(Reported):
    """A page of alarms: active alarms by importance, or cleared alarms from newest to oldest."""

    alarms: list[AlarmReport]
    next: Annotated[str, Field(max_length=20)] | None
    """Send this value as `after` to get the next page; null on the last page."""
    not_listed: Count
    """Number of present conditions beyond the limit on active alarms."""
    problem: str | None
    """Reason why alarms are not written to disk; null if they are."""


class Acknowledge(Given):
    id: Annotated[str, Field(min_length=1, max_length=40)]
    """Kind of the alarm."""
    subject: Annotated[str, Field(max_length=1_000)]
    """Subject of the alarm, exactly as in the list."""


class Accepted(Reported):
    """The broker's confirmation that it has logged who acknowledged an alarm."""
