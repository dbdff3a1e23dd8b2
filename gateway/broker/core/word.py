"""Base class of enumerations whose values are stored in journal records."""

from enum import IntEnum


class Word(IntEnum):
    """Enumeration value that is stored as an integer in the journal.

    In the session log it is stored as `word`, which is the name of the value in lower case.
    """

    word: str

    def __init__(self, _: int) -> None:
        self.word = self.name.lower()
