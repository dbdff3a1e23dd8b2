"""A gateway is ambiguous if an event may occur twice in a batch, and single events are paired."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from cloud_jobs.ingest import split as under_test
from cloud_jobs.ingest.outline import FrameRange, Outline, SingleEvent
from cloud_jobs.ingest.split import Event, Message, Origin, Split, split
from cloud_jobs.limits import SINGLE_EVENTS_PER_BATCH_MAX
from tests.contract.segments import payload_of

DAY, TIME_US = date(2025, 11, 21), 1_763_715_138_250_000


def origin(outline: Outline | None, gateway: str = "gw-1", store: str = "s") -> Origin:
    return Origin(gateway, store, "b", "synchronised", DAY, outline)


def nothing_before(_: Sequence[tuple[Message, bool]]) -> Iterable[Event]:
    return ()


def held(message: int, *, board_sequence: int | None = None, sequence: int = 1) -> SingleEvent:
    payload = payload_of(message, sequence=message if board_sequence is None else board_sequence)
    topic = "sensors/board-0000002a/temperature"
    return SingleEvent(True, message, sequence, TIME_US, topic, payload, None, "c")


def released(message: int, sequence: int = 2) -> SingleEvent:
    return SingleEvent(False, message, sequence, TIME_US + 1000, None, None, None, None)


def board(least: int, greatest: int, device: str = "board-0000002a", boot: int = 3) -> Outline:
    return Outline(good=1, boards=(FrameRange(device, boot, least, greatest),))


def parted(*outlines: Outline | None) -> Split:
    return split([origin(one) for one in outlines], (), nothing_before)


def test_files_whose_numbers_do_not_touch_are_plain() -> None:
    found = parted(
        Outline(good=2, wrong=1, messages=((1, 3), (5, 9))), Outline(good=3, messages=((4, 4),)),
        board(1, 5), board(6, 9), board(1, 5, boot=4), board(1, 5, device="other"),
    )  # fmt: skip
    assert (found.ambiguous, found.good, found.wrong) == (frozenset(), 9, 1)
    assert found.paired.num_rows == 0


@pytest.mark.parametrize(
    "outlines",
    [
        (None,),
        (Outline(messages=((1, 3),)), Outline(messages=((3, 5),))),
        (Outline(messages=((1, 9),)), Outline(messages=((4, 4),))),
        (Outline(messages=((1, 9),)), Outline(single_events=(released(4),))),
        (Outline(single_events=(held(4),)), Outline(single_events=(held(4),))),
        (board(1, 5), board(5, 6)),
        (board(7, 7), Outline(single_events=(held(4, board_sequence=7), released(4)))),
        (
            Outline(single_events=(held(4), released(4))),
            Outline(single_events=(held(5, board_sequence=4), released(5))),
        ),
    ],
)  # fmt: skip
def test_a_gateway_with_a_number_twice_is_odd_and_others_are_not(
    outlines: tuple[Outline | None, ...],
) -> None:
    files = [origin(one) for one in outlines] + [origin(Outline(good=1), "other")]
    found = split(files, (), nothing_before)
    assert found.ambiguous == {"gw-1"}
    assert [gateway for gateway, _ in found.outlines] == ["other"]
    assert found.paired.num_rows == 0


def test_numbers_of_two_stores_are_two_numbers_and_an_overlapping_gateway_is_odd() -> None:
    same = Outline(messages=((1, 3),))
    assert not split([origin(same), origin(same, store="t")], (), nothing_before).ambiguous
    assert split([origin(same)], ["gw-1"], nothing_before).ambiguous == {"gw-1"}


def test_halves_of_two_files_are_a_message_with_the_time_of_its_release() -> None:
    first = origin(Outline(single_events=(held(4, sequence=11),)))
    found = split([first, origin(Outline(single_events=(released(4, 12),)))], (), nothing_before)
    (row,) = found.paired.to_pylist()
    assert (row["message"], row["value"], row["sequence"]) == (4, 4.0, 12)
    assert row["time"] == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=TIME_US + 1000)
    assert row["topic"] == "sensors/board-0000002a/temperature"
    assert found.good == 1


def before(*events: Event) -> under_test.Before:
    def found(wanted: Sequence[tuple[Message, bool]]) -> Iterable[Event]:
        assert wanted == [(("gw-1", "s", 4), True)]
        return events

    return found


def earlier(**changes: Any) -> Event:
    of_file = origin(None)._asdict() | {"day": DAY - timedelta(1)}
    values = of_file | held(4)._asdict() | {"time": datetime(2025, 1, 1, tzinfo=UTC)} | changes
    return Event(True, values)


def test_the_half_of_an_earlier_batch_is_looked_for_and_two_of_them_are_odd() -> None:
    files = [origin(Outline(single_events=(released(4),)))]
    (row,) = split(files, (), before(earlier())).paired.to_pylist()
    assert (row["value"], row["day"], row["sequence"]) == (4.0, DAY, 2)
    assert split(files, (), before()).paired.num_rows == 0
    assert split(files, (), before(earlier(), earlier())).ambiguous == {"gw-1"}
    no_contents = before(earlier(payload=None))
    assert split(files, (), no_contents).paired.num_rows == 0


def test_more_halves_than_the_driver_pairs_are_left_to_a_join() -> None:
    files = [
        origin(Outline(single_events=tuple(map(released, range(SINGLE_EVENTS_PER_BATCH_MAX + 1))))),
        origin(Outline(good=1), "other"),
    ]
    found = split(files, (), nothing_before)
    assert found.ambiguous == {"gw-1"}
    assert found.good == 1
    assert replace(found, ambiguous=frozenset()).outlines == [("other", Outline(good=1))]
