"""A condition that is true now: its identifier, subject, severity, sentence and fix. Pure."""

from dataclasses import dataclass
from enum import IntEnum


class Level(IntEnum):
    """Severity of a condition, in rising order."""

    GOOD = 0
    INFORMATION = 1
    ATTENTION = 2
    BAD = 3

    @property
    def word(self) -> str:
        """Return the level's name in REST, MQTT and metrics."""
        return _WORDS[self]


_WORDS = {
    Level.GOOD: "ok",
    Level.INFORMATION: "info",
    Level.ATTENTION: "warning",
    Level.BAD: "critical",
}


@dataclass(frozen=True)
class Condition:
    """A condition that is true now.

    `id` is an identifier from `kinds`. `subject` distinguishes conditions with the same identifier.
    """

    id: str
    subject: str
    level: Level
    sentence: str
    fix: str = ""

    @property
    def text(self) -> str:
        """Return the condition's sentence, followed by the fix."""
        return f"{self.sentence} {self.fix}".rstrip()
