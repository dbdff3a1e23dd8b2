"""Alarms as the REST interface returns them, and the arguments of their acknowledgement."""

from typing import Annotated, Literal

from pydantic import Field

from api.models.actions import Given
from api.models.values import Count, Milliseconds, Reported

LevelWord = Literal["info", "warning", "critical"]
State = Literal["active", "cleared"]


class AlarmReport(Reported):
    """An alarm. Times are by the gateway's clock."""

    id: str
    """Its kind: `disk_low`, `port_lost`, `messages_dropped`, ..."""
    title: str
    """The kind in words."""
    subject: str
    """The port, client, disk or part that it is about."""
    level: LevelWord
    state: State
    """`active` while its condition is true, and after a loss until it is acknowledged."""
    sentence: str
    fix: str
    """The remedy; may be empty."""
    since_ms: Milliseconds
    changed_ms: Milliseconds
    """When it was raised, changed its level, ended or was acknowledged."""
    ended_ms: Milliseconds | None
    """When its condition ended; null while it is true."""
    cleared_ms: Milliseconds | None
    """When the alarm was cleared; null while it is active."""
    acknowledged_by: str | None
    acknowledged_ms: Milliseconds | None


class AlarmPage(Reported):
    """A page of alarms: active ones by importance, cleared ones latest first."""

    alarms: list[AlarmReport]
    next: Annotated[str, Field(max_length=20)] | None
    """Give this as `after` to get the next page; null on the last one."""
    not_listed: Count
    """Active conditions beyond the limit of active alarms."""
    problem: str | None
    """Why alarms are not written to disk; null: they are."""


class Acknowledge(Given):
    id: Annotated[str, Field(min_length=1, max_length=40)]
    """Kind of the alarm."""
    subject: Annotated[str, Field(max_length=1_000)]
    """Subject of the alarm, exactly as the list has it."""


class Accepted(Reported):
    """The broker's answer: it has logged who acknowledged the alarm."""
