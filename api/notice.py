"""A sentence of the verdict, and its severity. Pure."""

from dataclasses import dataclass
from enum import IntEnum


class Level(IntEnum):
    """Severity of a notice, in rising order."""

    GOOD = 0
    INFORMATION = 1
    ATTENTION = 2
    BAD = 3


@dataclass(frozen=True)
class Notice:
    level: Level
    sentence: str
