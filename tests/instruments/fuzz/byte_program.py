"""Decisions derived from bytes: the fuzzer's input is a tape, read from left to right.

After the tape's end every byte is 0, so every prefix of an input is an input.
"""

from collections.abc import Sequence
from typing import TypeVar

Choice = TypeVar("Choice")


class ByteProgram:
    """A reader of one input."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    @property
    def is_over(self) -> bool:
        """True if every byte has been read."""
        return self._position >= len(self._data)

    def byte(self) -> int:
        """Return the next byte."""
        if self.is_over:
            return 0
        self._position += 1
        return self._data[self._position - 1]

    def pick(self, choices: Sequence[Choice]) -> Choice:
        """Return one of the choices, selected by the next byte."""
        return choices[self.byte() % len(choices)]

    def take(self, count: int) -> bytes:
        """Return up to `count` bytes."""
        taken = self._data[self._position : self._position + count]
        self._position += len(taken)
        return taken

    def rest(self) -> bytes:
        """Return all bytes that have not been read."""
        return self.take(len(self._data))


def records_of(data: bytes) -> list[bytes]:
    """Split ``kind u8 | count u8 | count bytes`` records, and drop the counts.

    The last record may be short.
    """
    records: list[bytes] = []
    position = 0
    while position < len(data):
        count = data[position + 1] if position + 1 < len(data) else 0
        records.append(data[position : position + 1] + data[position + 2 : position + 2 + count])
        position += 2 + count
    return records


def joined(records: Sequence[bytes]) -> bytes:
    """Join records, and add their counts again."""
    return b"".join([record[:1] + bytes([len(record) - 1]) + record[1:] for record in records])
