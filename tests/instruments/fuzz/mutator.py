"""Mutations of whole actions, in addition to libFuzzer's mutations of bytes.

Programs of the connection target grow by valid actions: actions of the seeds are inserted,
repeated, moved, removed, or get another argument.
"""

import random
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final

from tests.instruments.fuzz.byte_program import joined, records_of

BYTES_SHARE: Final = 0.3
"""The fraction of mutations that libFuzzer does, because it knows which bytes were compared."""

CHANGES_MAX: Final = 4
"""Changes per mutation: single changes find little in a protocol of many steps."""


class ActionMutator:
    """Mutates programs with the actions ("words") of the seeds."""

    def __init__(self, seeds: Sequence[bytes], mutate: Callable[[bytes, int], bytes]) -> None:
        words = sorted({record for seed in seeds for record in records_of(seed[1:]) if record})
        self.words = [list(alike) for _, alike in groupby(words, lambda record: record[0])]
        """Words grouped by action, so that all actions are equally likely."""
        self.mutate = mutate
        """libFuzzer's own mutation."""

    def __call__(self, data: bytes, size_max_bytes: int, seed: int) -> bytes:
        """Return a mutated program."""
        chance = random.Random(seed)  # noqa: S311 - it has to be the same for the same seed
        if not data or chance.random() < BYTES_SHARE:
            return self.mutate(data, size_max_bytes)
        records = records_of(data[1:])
        for _ in range(chance.randint(1, CHANGES_MAX)):
            self._change(records, chance)
        first = chance.choice((data[0], data[0], chance.randrange(64)))
        return (bytes([first]) + joined(records))[:size_max_bytes]

    def _change(self, records: list[bytes], chance: random.Random) -> None:
        place = chance.randrange(len(records) + 1)
        kind = chance.randrange(6)
        if kind < 2 or place == len(records):
            records.insert(place, chance.choice(chance.choice(self.words)))
        elif kind == 2:
            records.insert(chance.randrange(len(records) + 1), records[place])
        elif kind == 3:
            records.insert(chance.randrange(len(records)), records.pop(place))
            if chance.random() < 0.5:
                records.pop(chance.randrange(len(records)))
        elif kind == 4:
            del records[place + 1 :]
        else:
            records[place] = self._changed(records[place], chance)

    def _changed(self, record: bytes, chance: random.Random) -> bytes:
        arguments = bytearray(record)
        if len(arguments) == 1:
            return record
        place = chance.randrange(1, len(arguments))
        arguments[place] = chance.choice((chance.randrange(8), chance.randrange(256)))
        return bytes(arguments)
