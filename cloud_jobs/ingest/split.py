"""Split of a batch's gateways into plain and odd ones.

A gateway is plain if the outlines (summaries) of its files show that no record can occur twice in
the batch. The staged records of plain gateways are used unchanged. All other gateways are odd:
their events are read again from the table, joined and sorted. An odd gateway does not affect other
gateways, because the gateway is part of each table's key. The split depends only on the staging
commit and on earlier batches, so it is the same after a crash.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from cloud_jobs.ingest.file_contents import ARROW_DELIVERED, CONTENT, outlined
from cloud_jobs.ingest.outline import Half, Outline, Run
from cloud_jobs.ingest.senml import records_of_batch
from cloud_jobs.limits import HALVES_PER_BATCH_MAX

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
Message = tuple[str, str, int]
"""Gateway, store and message number."""


class Origin(NamedTuple):
    """Origin of a trusted file: its gateway, store, broker start, clock and day.

    It also contains a summary of the file's contents (`outline`).
    """

    gateway: str
    store: str
    boot: str
    clock: str
    day: date
    outline: Outline | None


class Event(NamedTuple):
    """One of the two events of a QoS 2 message: `message_held` or `message_released`."""

    is_held: bool
    values: Mapping[str, Any]
    """Values by the column names of DELIVERED. A released half has no contents."""


@dataclass(frozen=True, slots=True)
class Split:
    """Result of the split: the odd gateways, and data about the plain gateways."""

    odd: frozenset[str]
    numbers: Sequence[tuple[str, Outline]]
    """Outlines of plain gateways."""
    paired: pa.RecordBatch
    """Records (RECORDS) of plain gateways from messages whose halves are in different files."""

    @property
    def good(self) -> int:
        return sum(outline.good for _, outline in self.numbers)

    @property
    def wrong(self) -> int:
        return sum(outline.wrong for _, outline in self.numbers)


Before = Callable[[Sequence[tuple[Message, bool]]], Iterable[Event]]
"""Function that returns the halves of messages from earlier batches. The flag is True if the wanted
half is `message_held`, and False for `message_released`."""


def split(origins: Sequence[Origin], overlapping: Iterable[str], halves_before: Before) -> Split:
    """Split a batch's gateways into plain and odd ones.

    A gateway is odd if one of its records may occur twice.

    Args:
        origins: the trusted files of the batch that contain events.
        overlapping: gateways with an event that may be stored already, or be in the batch twice.
        halves_before: function that finds the second event of a message in earlier batches.
    """
    odd = {*overlapping} | {one.gateway for one in origins if one.outline is None}
    odd |= _repeating(origins)
    plain = [one for one in origins if one.gateway not in odd]
    if sum(len(one.outline.halves) for one in plain if one.outline) > HALVES_PER_BATCH_MAX:
        odd |= {one.gateway for one in plain if one.outline and one.outline.halves}
        plain = [one for one in origins if one.gateway not in odd]
    pairs, unsure = _pairs(plain, halves_before)
    odd |= unsure
    paired = _records_of(row for row in pairs if row["gateway"] not in odd)
    of_pairs = _outlines_of(paired)
    odd |= {gateway for gateway, outline in of_pairs if outline is None}
    of_files = [(one.gateway, one.outline) for one in origins if one.outline]
    odd |= _boards_repeating([*of_files, *of_pairs])
    known = [
        (gateway, one) for gateway, one in [*of_files, *of_pairs] if one and gateway not in odd
    ]
    if odd and paired.num_rows:
        others = pc.is_in(paired.column("gateway"), value_set=pa.array(sorted(odd)))
        paired = paired.filter(pc.invert(others))
    return Split(frozenset(odd), known, paired)


def _repeating(origins: Iterable[Origin]) -> set[str]:
    """Return the gateways for which the same message may be delivered twice in the batch."""
    runs: defaultdict[tuple[str, str], list[Run]] = defaultdict(list)
    halves: Counter[tuple[Message, bool]] = Counter()
    for one in origins:
        if one.outline is None:
            continue
        runs[one.gateway, one.store] += one.outline.messages
        halves.update(
            ((one.gateway, one.store, half.message), half.is_held) for half in one.outline.halves
        )
    for gateway, store, number in {message for message, _ in halves}:
        runs[gateway, store].append((number, number))
    odd = {message[0] for (message, _), count in halves.items() if count > 1}
    return odd | {gateway for (gateway, _), found in runs.items() if _touch(found)}


def _boards_repeating(outlines: Iterable[tuple[str, Outline | None]]) -> set[str]:
    """Return the gateways for which the same reading of a board may occur twice in the batch."""
    runs: defaultdict[tuple[str, str, int], list[Run]] = defaultdict(list)
    for gateway, outline in outlines:
        for run in outline.boards if outline else ():
            runs[gateway, run.device, run.boot].append((run.least, run.greatest))
    return {gateway for (gateway, _, _), found in runs.items() if _touch(found)}


def _touch(runs: list[Run]) -> bool:
    runs.sort()
    return any(after[0] <= before[1] for before, after in pairwise(runs))


def _pairs(plain: Iterable[Origin], halves_before: Before) -> tuple[list[dict[str, Any]], set[str]]:
    """Pair the events `message_held` and `message_released` that are in different files.

    Return the pairs as rows of the schema DELIVERED, and the gateways for which one of these events
    occurs twice.
    """
    found: defaultdict[Message, dict[bool, Event]] = defaultdict(dict)
    for one in plain:
        for half in one.outline.halves if one.outline else ():
            message = (one.gateway, one.store, half.message)
            found[message][half.is_held] = Event(half.is_held, _values_of(one, half))
    lone = [(message, not next(iter(of))) for message, of in found.items() if len(of) == 1]
    unsure = set()
    for event in halves_before(lone) if lone else ():
        values = event.values
        message = (values["gateway"], values["store"], values["message"])
        if event.is_held in found[message]:
            unsure.add(message[0])
        found[message][event.is_held] = event
    pairs = [
        {**of[False].values, **{name: of[True].values[name] for name in CONTENT}}
        for of in found.values()
        if len(of) == 2
    ]
    return pairs, unsure


def _values_of(origin: Origin, half: Half) -> dict[str, Any]:
    time = _EPOCH + timedelta(microseconds=half.time_us)
    values = half._asdict() | {"time": time}
    of_file = {name: getattr(origin, name) for name in ("gateway", "store", "boot", "clock", "day")}
    return {name: (values | of_file)[name] for name in ARROW_DELIVERED.names}


def _records_of(delivered: Iterable[Mapping[str, Any]]) -> pa.RecordBatch:
    carried = [
        dict(row)
        for row in delivered
        if row["payload"] is not None or row["payload_base64"] is not None
    ]
    return records_of_batch(pa.RecordBatch.from_pylist(carried, ARROW_DELIVERED))


def _outlines_of(paired: pa.RecordBatch) -> list[tuple[str, Outline | None]]:
    """Return an outline (summary) of the paired records of each gateway."""
    found = []
    for gateway in sorted({*paired.column("gateway").to_pylist()}):
        mine = paired.filter(pc.equal(paired.column("gateway"), gateway))
        found.append((gateway, outlined(mine, [*{*mine.column("message").to_pylist()}])))
    return found
