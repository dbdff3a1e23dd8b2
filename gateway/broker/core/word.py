"""Base class of the words that records contain."""

from enum import IntEnum


class Word(IntEnum):
    """A value in a record, and its word in the session log."""

    word: str

    def __init__(self, _: int) -> None:
        self.word = self.name.lower()
