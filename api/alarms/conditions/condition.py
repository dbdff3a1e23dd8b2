"""An alarm condition that is true now, with its severity, a description and a fix.

This module does no I/O.
"""

from dataclasses import dataclass
from enum import IntEnum


class Level(IntEnum):
    """Severity of an alarm condition. The members are in ascending order of severity."""

    GOOD = 0
    INFORMATION = 1
    ATTENTION = 2
    BAD = 3

    @property
    def word(self) -> str:
        """Return the name of the level, as used in the REST interface, in MQTT and in metrics."""
        return _WORDS[self]


_WORDS = {
    Level.GOOD: "ok",
    Level.INFORMATION: "info",
    Level.ATTENTION: "warning",
    Level.BAD: "critical",
}


@dataclass(frozen=True)
class Condition:
    """An alarm condition that is true now.

    `id` is the identifier of its kind, as listed in the module `kinds`. `subject` is the port,
    client or other object that is affected. It distinguishes conditions of the same kind.
    """

    id: str
    subject: str
    level: Level
    sentence: str
    fix: str = ""

    @property
    def text(self) -> str:
        """Return the text of the condition: the sentence about the problem, followed by the fix."""
        return f"{self.sentence} {self.fix}".rstrip()
