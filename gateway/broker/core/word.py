"""Base class of enumerations whose values are stored in journal records."""

from enum import IntEnum


class Word(IntEnum):
    """A value in a journal record, with the word that represents it in the session log."""

    word: str

    def __init__(self, _: int) -> None:
        self.word = self.name.lower()
