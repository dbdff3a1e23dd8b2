"""The member of a shared subscription that gets a message, and the counters of a route."""

from pathlib import Path

import pytest

from gateway.broker.core.limits import Limits
from gateway.broker.core.topics.route import is_system_topic
from gateway.broker.core.when_full import WhenFull
from gateway.broker.wire.packets import (
    Subscription,
)
from tests.broker.core.harness import Client, Harness, payloads
from tests.broker.core.mqtt5 import connect, publish, subscribe

PAYLOAD = b"x" * 400


def member(harness: Harness, client_id: str, receive_maximum: int = 100) -> Client:
    client = connect(harness, client_id, receive_maximum=receive_maximum)
    subscribe(harness, client, Subscription("$share/g/t", 2))
    return client


def fill(harness: Harness, client_id: str) -> None:
    """Fill the queue of a session with messages on its own topic, until a message is dropped."""
    publisher = connect(harness, "filler", clean=True)
    session = harness.session(client_id)
    while not session.dropped_messages:
        publish(harness, publisher, f"own/{client_id}", PAYLOAD)
    session.dropped_messages = 0


@pytest.fixture(params=["messages", "bytes"])
def narrow(request: pytest.FixtureRequest, tmp_path: Path) -> Harness:
    """Return a broker whose queues are short and drop the newest messages when they are full."""
    limits = Limits()
    limits.when_full_of = lambda _: WhenFull.DROP_NEWEST
    if request.param == "messages":
        limits.max_mqueue_len = 3
    else:
        limits.max_mqueue_bytes = 1_500
    return Harness(tmp_path, limits)


def own(harness: Harness, client: Client, client_id: str) -> None:
    subscribe(harness, client, Subscription(f"own/{client_id}", 1))


@pytest.mark.statement("MQTT5-4.8.2-3")
@pytest.mark.parametrize("qos", [1, 2])
def test_a_member_away_whose_queue_is_full_is_passed_over_while_another_has_room(
    narrow: Harness, qos: int
) -> None:
    for name in ("full", "roomy"):
        client = member(narrow, name)
        own(narrow, client, name)
        narrow.lose(client)
    fill(narrow, "full")
    before = narrow.session("full").queued_count
    publisher = connect(narrow, "p")
    for _ in range(2):
        publish(narrow, publisher, "t", PAYLOAD)
    assert narrow.session("full").queued_count == before
    assert narrow.session("full").dropped_messages == 0
    assert narrow.session("roomy").queued_count == 2
    narrow.close()


def test_a_member_here_whose_window_and_queue_are_full_leaves_it_to_one_that_is_away(
    narrow: Harness,
) -> None:
    here, away = member(narrow, "here", receive_maximum=1), member(narrow, "away")
    own(narrow, here, "here")
    narrow.lose(away)
    fill(narrow, "here")
    publish(narrow, connect(narrow, "p"), "t", PAYLOAD)
    assert narrow.session("here").dropped_messages == 0
    assert narrow.session("away").queued_count == 1
    narrow.close()


def test_a_member_here_that_has_to_queue_goes_before_one_that_is_away(harness: Harness) -> None:
    here, away = member(harness, "here", receive_maximum=1), member(harness, "away")
    harness.lose(away)
    publisher = connect(harness, "p")
    for number in range(3):
        publish(harness, publisher, "t", b"%d" % number)
    assert payloads(here.take()) == [b"0"]
    assert harness.session("here").queued_count == 2
    assert harness.session("away").queued_count == 0


def test_when_all_are_full_the_message_is_dropped_and_counted_for_one_of_them(
    narrow: Harness,
) -> None:
    for name in "ab":
        client = member(narrow, name)
        own(narrow, client, name)
        narrow.lose(client)
        fill(narrow, name)
    publish(narrow, connect(narrow, "p"), "t", PAYLOAD)
    assert sum(narrow.session(name).dropped_messages for name in "ab") == 1
    narrow.close()


def test_at_qos_0_a_member_away_is_passed_over_if_it_keeps_none(tmp_path: Path) -> None:
    limits = Limits()
    harness = Harness(tmp_path, limits)
    away, here = member(harness, "away"), member(harness, "here")
    harness.lose(away)
    publisher = connect(harness, "p")
    harness.broker.set_writable(here.connection, False, harness.now)
    limits.mqueue_store_qos0 = True
    publish(harness, publisher, "t", b"0", 0)
    assert harness.session("away").queued_count == 1, "the one that is here would have lost it"
    harness.broker.set_writable(here.connection, True, harness.now)
    for number in range(3):
        publish(harness, publisher, "t", b"%d" % number, 0)
    assert payloads(here.take()) == [b"0", b"1", b"2"]
    harness.close()


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("$SYS", True),
        ("$SYS/", True),
        ("$SYS/#", True),
        ("$SYSTEM/x", False),
        ("$sys/x", False),
        ("a/$SYS/x", False),
        ("", False),
    ],
)
def test_what_lies_below_system(topic: str, expected: bool) -> None:
    assert is_system_topic(topic) is expected
