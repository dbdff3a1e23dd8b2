"""Verdict on the gateway: one headline that sums up all conditions that are true now.

A process that was never started is listed as a condition, but does not make the verdict worse. Some
gateways do not need all processes: without serial ports, for example, the bridge is not needed.
This module does no I/O.
"""

from dataclasses import dataclass

from api.alarms.conditions.condition import Condition, Level
from api.alarms.kinds import kind_of
from api.wording import counted_of


@dataclass(frozen=True, kw_only=True)
class Verdict:
    level: Level
    headline: str
    notices: tuple[Condition, ...]


def verdict_of(conditions: tuple[Condition, ...]) -> Verdict:
    """Return the verdict on the gateway: a level, a headline and the conditions themselves.

    `conditions` must be sorted, with the most severe first.
    """
    if conditions and conditions[0].level is Level.BAD:
        headline = kind_of(conditions[0].id).title
        return Verdict(level=Level.BAD, headline=headline, notices=conditions)
    attention_count = sum(each.level is Level.ATTENTION for each in conditions)
    if attention_count == 0:
        return Verdict(level=Level.GOOD, headline="All is well", notices=conditions)
    headline = f"Running, {counted_of(attention_count, 'warning')}"
    return Verdict(level=Level.ATTENTION, headline=headline, notices=conditions)
