"""Base class of enumerations whose values are stored in journal records."""

from enum import IntEnum


class Word(IntEnum):
    """A value that is stored as an integer in the journal, and as `word` in the session log."""

    word: str

    def __init__(self, _: int) -> None:
        self.word = self.name.lower()
