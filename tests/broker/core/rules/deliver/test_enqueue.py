"""Messages for a queue that has reached its limit."""

from pathlib import Path

import pytest

from gateway.broker.core.limits import QUEUE_PAGE_MESSAGES, Limits
from gateway.broker.core.when_full import WhenFull
from tests.broker.core.harness import Harness, payloads, publish_many


@pytest.fixture
def display(tmp_path: Path) -> Harness:
    """Return a broker whose queues keep the newest ten messages."""
    limits = Limits()
    limits.max_mqueue_len = 10
    limits.when_full_of = lambda _: WhenFull.DROP_OLDEST
    harness = Harness(tmp_path, limits)
    harness.lose(harness.subscriber("s", "t", 1))
    return harness


def newest(count: int, of: int) -> list[bytes]:
    return [b"%d" % number for number in range(of - count, of)]


@pytest.mark.parametrize("cut", [False, True])
def test_the_newest_messages_are_kept(display: Harness, cut: bool) -> None:
    publish_many(display, 25)
    if cut:
        display.cut()
    assert payloads(display.connect("s").take()) == newest(10, 25)
    if not cut:
        assert display.broker.statistics.dropped == {"displaced": 15}
        assert display.session("s").dropped_messages == 15


@pytest.mark.parametrize("cut", [False, True])
def test_what_is_on_disk_only_is_read_to_be_displaced(display: Harness, cut: bool) -> None:
    display.limits.max_mqueue_len = QUEUE_PAGE_MESSAGES + 50
    publish_many(display, QUEUE_PAGE_MESSAGES + 50)
    display.checkpoint()
    session = display.session("s")
    assert session.stored_count == QUEUE_PAGE_MESSAGES + 50
    for _ in range(3):
        publish_many(display, 200)
        display.checkpoint()
    assert session.queued_count == display.limits.max_mqueue_len
    if cut:
        display.cut()
    display.limits.max_inflight = 1_000
    found = payloads(display.connect("s").take())
    assert found == [*newest(106, 200), *newest(200, 200)]
    display.checkpoint()
    assert display.rows("queue", "outbound") == {"queue": 0, "outbound": 306}


def test_what_is_in_flight_is_not_lost_when_what_waits_behind_it_is_displaced(
    display: Harness,
) -> None:
    display.limits.max_inflight = 2
    display.connect("s")
    publish_many(display, 12)
    display.restart()
    publish_many(display, 5)
    assert display.session("s").queued_count == 10
    display.limits.max_inflight = 100
    assert payloads(display.connect("s").take()) == [b"0", b"1", *newest(5, 12), *newest(5, 5)]


def test_while_it_is_being_read_little_more_is_kept(display: Harness) -> None:
    publish_many(display, 10)
    display.checkpoint()
    publisher = display.connect("p", clean=True)
    session = display.session("s")
    assert session.stored_count == 10
    for number in range(1, QUEUE_PAGE_MESSAGES + 6):
        publisher.send_bytes(b"\x32\x06\x00\x01t" + number.to_bytes(2, "big") + b"x")
    assert session.loading
    assert session.queued_count == 10 + QUEUE_PAGE_MESSAGES
    assert display.broker.statistics.dropped == {"queue_full": 5}
    display.commit()
    assert session.queued_count == 10
    assert display.broker.statistics.dropped == {"queue_full": 5, "displaced": QUEUE_PAGE_MESSAGES}


def test_many_small_ones_make_room_for_a_large_one(display: Harness) -> None:
    display.limits.max_mqueue_bytes = 1_000
    publish_many(display, 10)
    publisher = display.connect("p", clean=True)
    payload = bytes(980)
    publisher.send_bytes(b"\x32\xd9\x07\x00\x01t\x00\x01" + payload)
    display.commit()
    session = display.session("s")
    assert session.queued_bytes <= 1_000
    assert payloads(display.connect("s").take())[-1] == payload
    assert display.broker.statistics.dropped["displaced"] >= 5


def test_a_message_larger_than_the_queue_takes_the_place_of_all(display: Harness) -> None:
    display.limits.max_mqueue_bytes = 100
    publish_many(display, 5)
    display.connect("p", clean=True).send_bytes(b"\x32\xad\x02\x00\x01t\x00\x01" + bytes(296))
    display.commit()
    assert payloads(display.connect("s").take()) == [bytes(296)]


def test_by_default_what_was_accepted_before_stays(harness: Harness) -> None:
    harness.limits.max_mqueue_len = 3
    harness.lose(harness.subscriber("s", "t", 1))
    publish_many(harness, 5)
    assert payloads(harness.connect("s").take()) == [b"0", b"1", b"2"]
    assert harness.broker.statistics.dropped == {"queue_full": 2}
