"""Determines which gateways of a batch may have duplicate events or records.

These gateways are called ambiguous. A gateway is unambiguous if the outlines (summaries) of its
files show that none of its records can occur twice in the batch. Its staged records are used
unchanged. For the ambiguous gateways, the events are read again from the table, joined and sorted.
An ambiguous gateway does not affect other gateways, because the gateway is part of each table's
key. The result depends only on the staging commit and on earlier batches, so it is the same if the
run is repeated after a crash.
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
from cloud_jobs.ingest.outline import NumberRange, Outline, SingleEvent
from cloud_jobs.ingest.senml import records_of_batch
from cloud_jobs.limits import SINGLE_EVENTS_PER_BATCH_MAX

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
Message = tuple[str, str, int]
"""Gateway, store and message number."""


class Origin(NamedTuple):
    """Origin of a trusted file (gateway, store, boot, clock, day) and a summary of its contents."""

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
    """Values by the column names of DELIVERED. The event `message_released` has no contents."""


@dataclass(frozen=True, slots=True)
class Split:
    """Result of the split: names of the ambiguous gateways, and data of the unambiguous ones."""

    ambiguous: frozenset[str]
    outlines: Sequence[tuple[str, Outline]]
    """Outlines of unambiguous gateways."""
    paired: pa.RecordBatch
    """Records (RECORDS) of unambiguous gateways from messages whose two events are in different
    files."""

    @property
    def good(self) -> int:
        return sum(outline.good for _, outline in self.outlines)

    @property
    def wrong(self) -> int:
        return sum(outline.wrong for _, outline in self.outlines)


Before = Callable[[Sequence[tuple[Message, bool]]], Iterable[Event]]
"""Function that returns the missing events of messages from earlier batches. The flag is True if
the wanted event is `message_held`, and False for `message_released`."""


def split(origins: Sequence[Origin], overlapping: Iterable[str], earlier_events: Before) -> Split:
    """Separate the gateways of a batch that may have duplicate events or records from all others.

    The gateways that may have duplicates are called ambiguous.

    Args:
        origins: the trusted files of the batch that contain events.
        overlapping: gateways with an event that may be stored already or occur twice in the batch.
        earlier_events: function that searches earlier batches for missing events. A message has the
            events `message_held` and `message_released`. If only one of them is in this batch,
            the function searches for the other one.
    """
    ambiguous = {*overlapping} | {one.gateway for one in origins if one.outline is None}
    ambiguous |= _repeating(origins)
    unique = [one for one in origins if one.gateway not in ambiguous]
    count = sum(len(one.outline.single_events) for one in unique if one.outline)
    if count > SINGLE_EVENTS_PER_BATCH_MAX:
        ambiguous |= {one.gateway for one in unique if one.outline and one.outline.single_events}
        unique = [one for one in origins if one.gateway not in ambiguous]
    pairs, unsure = _pairs(unique, earlier_events)
    ambiguous |= unsure
    paired = _records_of(row for row in pairs if row["gateway"] not in ambiguous)
    of_pairs = _outlines_of(paired)
    ambiguous |= {gateway for gateway, outline in of_pairs if outline is None}
    of_files = [(one.gateway, one.outline) for one in origins if one.outline]
    ambiguous |= _boards_repeating([*of_files, *of_pairs])
    known = [
        (gateway, one)
        for gateway, one in [*of_files, *of_pairs]
        if one and gateway not in ambiguous
    ]
    if ambiguous and paired.num_rows:
        others = pc.is_in(paired.column("gateway"), value_set=pa.array(sorted(ambiguous)))
        paired = paired.filter(pc.invert(others))
    return Split(frozenset(ambiguous), known, paired)


def _repeating(origins: Iterable[Origin]) -> set[str]:
    """Return the gateways for which the batch may contain two deliveries of the same message."""
    ranges: defaultdict[tuple[str, str], list[NumberRange]] = defaultdict(list)
    single_events: Counter[tuple[Message, bool]] = Counter()
    for one in origins:
        if one.outline is None:
            continue
        ranges[one.gateway, one.store] += one.outline.messages
        single_events.update(
            ((one.gateway, one.store, event.message), event.is_held)
            for event in one.outline.single_events
        )
    for gateway, store, number in {message for message, _ in single_events}:
        ranges[gateway, store].append((number, number))
    ambiguous = {message[0] for (message, _), count in single_events.items() if count > 1}
    return ambiguous | {gateway for (gateway, _), found in ranges.items() if _overlap(found)}


def _boards_repeating(outlines: Iterable[tuple[str, Outline | None]]) -> set[str]:
    """Return the gateways for which the batch may contain the same reading of a board twice.

    A board begins a new numbering of its frames at each start. A reading may occur twice if two
    ranges of frame numbers after the same start overlap.
    """
    ranges: defaultdict[tuple[str, str, int], list[NumberRange]] = defaultdict(list)
    for gateway, outline in outlines:
        for one in outline.boards if outline else ():
            ranges[gateway, one.device, one.boot].append((one.least, one.greatest))
    return {gateway for (gateway, _, _), found in ranges.items() if _overlap(found)}


def _overlap(ranges: list[NumberRange]) -> bool:
    ranges.sort()
    return any(after[0] <= before[1] for before, after in pairwise(ranges))


def _pairs(
    origins: Iterable[Origin], earlier_events: Before
) -> tuple[list[dict[str, Any]], set[str]]:
    """Pair the events `message_held` and `message_released` that are in different files.

    Return the pairs as rows of the schema DELIVERED, and the gateways that have one of these events
    twice.

    Args:
        origins: files of gateways that are not known to be ambiguous.
        earlier_events: function that searches earlier batches for missing events.
    """
    found: defaultdict[Message, dict[bool, Event]] = defaultdict(dict)
    for one in origins:
        for single in one.outline.single_events if one.outline else ():
            message = (one.gateway, one.store, single.message)
            found[message][single.is_held] = Event(single.is_held, _values_of(one, single))
    lone = [(message, not next(iter(of))) for message, of in found.items() if len(of) == 1]
    unsure = set()
    for event in earlier_events(lone) if lone else ():
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


def _values_of(origin: Origin, event: SingleEvent) -> dict[str, Any]:
    time = _EPOCH + timedelta(microseconds=event.time_us)
    values = event._asdict() | {"time": time}
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
    """Return each gateway with an outline (summary) of its records in `paired`."""
    found = []
    for gateway in sorted({*paired.column("gateway").to_pylist()}):
        mine = paired.filter(pc.equal(paired.column("gateway"), gateway))
        found.append((gateway, outlined(mine, [*{*mine.column("message").to_pylist()}])))
    return found
