"""Base class of enumerations whose values are stored in journal records."""

from enum import IntEnum


class Word(IntEnum):
    """A value in a journal record. In the session log, the value is represented by its `word`."""

    word: str

    def __init__(self, _: int) -> None:
        self.word = self.name.lower()
