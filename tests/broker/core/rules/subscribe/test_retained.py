"""Retained messages for a new subscriber: no other client waits, and no message is lost."""

from pathlib import Path

import pytest

from gateway.broker.core.limits import Limits
from gateway.broker.core.rules.subscribe.retained import (
    FIRST_MESSAGES,
    SLICE_MESSAGES,
    WAIT_SECONDS,
)
from gateway.broker.wire.packets import Publish, Pubrel, Subscribe, Subscription
from tests.broker.core.harness import Client, Harness, payloads, publishes
from tests.broker.core.mqtt5 import connect, subscribe


def retain_many(harness: Harness, count: int, qos: int = 0) -> Client:
    publisher = harness.connect("p", clean=True)
    for number in range(count):
        packet_id = number % 60_000 + 1 if qos else 0
        publisher.send(Publish(f"r/{number}", b"%d" % number, qos, True, False, packet_id))
        if qos == 2:
            publisher.send(Pubrel(packet_id))
    harness.commit()
    return publisher


def wait_for_all(harness: Harness, client: Client) -> list[bytes]:
    seen: list[bytes] = []
    for _ in range(200):
        harness.advance(WAIT_SECONDS)
        seen += payloads(client.take())
    return seen


def test_a_large_retained_set_is_sent_in_slices(harness: Harness) -> None:
    retain_many(harness, 3 * SLICE_MESSAGES)
    client = harness.connect("s", clean=True)
    client.send(Subscribe(1, [Subscription("#", 0)]))
    harness.commit()
    first = client.take()
    assert first[1].kind == 9, "SUBACK comes before what is retained"
    assert len(publishes(first)) == FIRST_MESSAGES
    harness.advance(0)
    assert len(publishes(client.take())) == SLICE_MESSAGES
    assert len(wait_for_all(harness, client)) == 2 * SLICE_MESSAGES - FIRST_MESSAGES


def test_asking_again_and_again_costs_one_more_list_at_the_most(harness: Harness) -> None:
    retain_many(harness, 2 * SLICE_MESSAGES)
    client = harness.connect("s", clean=True)
    client.send(*[Subscribe(number + 1, [Subscription("#", 0)]) for number in range(200)])
    harness.commit()
    assert len(publishes(client.take())) == FIRST_MESSAGES
    assert len(wait_for_all(harness, client)) <= 4 * SLICE_MESSAGES - FIRST_MESSAGES


def test_a_message_that_was_replaced_meanwhile_does_not_come_after_its_successor(
    harness: Harness,
) -> None:
    publisher = retain_many(harness, 2 * SLICE_MESSAGES)
    client = harness.connect("s", clean=True)
    client.send(Subscribe(1, [Subscription("#", 0)]))
    harness.commit()
    client.take()
    last = 2 * SLICE_MESSAGES - 1
    publisher.send(Publish(f"r/{last}", b"new", 0, True, False, 0))
    harness.commit()
    rest = payloads(client.take()) + wait_for_all(harness, client)
    assert b"new" in rest
    assert b"%d" % last not in rest


def test_a_filter_that_is_unsubscribed_is_not_gone_through(harness: Harness) -> None:
    retain_many(harness, SLICE_MESSAGES + 10)
    client = harness.connect("s", clean=True)
    client.send(Subscribe(1, [Subscription("r/#", 0), Subscription("#", 0)]))
    client.send_bytes(b"\xa2\x05\x00\x02\x00\x01#")
    harness.commit()
    assert len(payloads(client.take()) + wait_for_all(harness, client)) == SLICE_MESSAGES + 10


def test_a_slow_reader_is_not_given_more_than_it_reads(harness: Harness) -> None:
    retain_many(harness, 2 * SLICE_MESSAGES)
    client = harness.connect("s", clean=True)
    harness.broker.set_writable(client.connection, False, harness.now)
    client.send(Subscribe(1, [Subscription("#", 0)]))
    harness.commit()
    assert publishes(client.take()) == []
    harness.broker.set_writable(client.connection, True, harness.now)
    assert len(wait_for_all(harness, client)) == 2 * SLICE_MESSAGES


def test_a_persistent_session_has_its_retained_messages_in_the_batch_of_suback(
    harness: Harness,
) -> None:
    retain_many(harness, SLICE_MESSAGES + 10, qos=1)
    client = harness.connect("s")
    client.send(Subscribe(1, [Subscription("r/#", 1)]))
    harness.seal()
    harness.cut()
    session = harness.session("s")
    assert len(session.outbound) + session.queued_count == SLICE_MESSAGES + 10


def test_a_full_queue_ends_the_replay_instead_of_dropping_each_message(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_mqueue_len = 10
    harness = Harness(tmp_path, limits)
    retain_many(harness, 1_000, qos=1)
    client = harness.connect("s")
    client.send(Subscribe(1, [Subscription("r/#", 1)]))
    harness.commit()
    assert harness.session("s").dropped_messages == 1
    harness.close()


@pytest.mark.statement("MQTT5-3.3.4-3")
@pytest.mark.parametrize("qos", [0, 1])
def test_a_retained_message_names_the_subscription_that_asked_for_it(
    harness: Harness, qos: int
) -> None:
    retain_many(harness, 1, qos)
    client = connect(harness, "s")
    for identifier, topic_filter in enumerate(("r/#", "r/0"), 1):
        packets = subscribe(harness, client, Subscription(topic_filter, qos), identifier=identifier)
        (publish,) = publishes(packets)
        assert publish.properties is not None
        assert publish.properties.subscription_identifiers == [identifier]


def test_large_retained_messages_are_sent_as_the_socket_is_written_to(harness: Harness) -> None:
    publisher = harness.connect("p", clean=True)
    for number in range(40):
        publisher.send(Publish(f"r/{number}", b"x" * 500_000, 0, True, False, 0))
    harness.commit()
    client = harness.connect("s", clean=True)
    client.send(Subscribe(1, [Subscription("#", 0)]))
    harness.seal()
    assert len(publishes(client.take())) < 10
    assert len(wait_for_all(harness, client)) > 30
    assert harness.broker.statistics.dropped == {}
