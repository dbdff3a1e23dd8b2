"""One sentence of the verdict, and how bad it is. Pure."""

from dataclasses import dataclass
from enum import IntEnum


class Level(IntEnum):
    """How bad, in order."""

    GOOD = 0
    INFORMATION = 1
    ATTENTION = 2
    BAD = 3


@dataclass(frozen=True)
class Notice:
    level: Level
    sentence: str
