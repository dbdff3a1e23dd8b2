"""Reduction of an input that raises, as long as it raises at the same place."""

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tests.instruments.fuzz.byte_program import joined, records_of
from tests.instruments.fuzz.targets import Target

MINIMISING_SECONDS_MAX: Final = 20.0
"""Time limit: an input that is still large then is small enough to read."""


def failure_of(check: Callable[[bytes], None], data: bytes) -> BaseException | None:
    """Return the exception that an input raises, or None."""
    # A future stores any exception, which is the result here.
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(check, data).exception()


def place_of(failure: BaseException | None) -> tuple[str, str, int | None]:
    """Return the class of an exception and the line that raised it, which identify the failure."""
    if failure is None:
        return "", "", 0
    last = traceback.extract_tb(failure.__traceback__)[-1]
    return type(failure).__name__, last.filename, last.lineno


def minimised(target: Target, data: bytes) -> bytes:
    """Return the smallest input found that fails as `data` does."""
    place = place_of(failure_of(target.check, data))
    deadline = time.monotonic() + MINIMISING_SECONDS_MAX

    def fails(candidate: bytes) -> bool:
        return place_of(failure_of(target.check, candidate)) == place

    if target.has_actions:
        head, records = data[:1], records_of(data[1:])
        records = _without_needless(records, lambda some: fails(head + joined(some)), deadline)
        return head + joined(records)
    octets = [data[index : index + 1] for index in range(len(data))]
    return b"".join(_without_needless(octets, lambda some: fails(b"".join(some)), deadline))


def _without_needless(
    parts: list[bytes], fails: Callable[[list[bytes]], bool], deadline: float
) -> list[bytes]:
    """Remove runs of parts, long runs first, as long as the rest still fails."""
    length = len(parts)
    while length:
        for start in _starts(parts, length):
            if time.monotonic() > deadline:
                return parts
            fewer = parts[:start] + parts[start + length :]
            if len(fewer) < len(parts) and fails(fewer):
                parts = fewer
        length //= 2
    return parts


def _starts(parts: Sequence[bytes], length: int) -> Iterator[int]:
    """Return start indexes from the end to the front, because the last parts are needed least."""
    return iter(range(max(0, len(parts) - length), -1, -length))
