"""One message to all its receivers: which clients, with which flags, and what is retained."""

import pytest

from gateway.broker.core.rules.deliver.fan_out import source_of
from gateway.broker.core.sessions.session import Session
from gateway.broker.wire.packets import (
    Subscription,
)
from tests.broker.core.harness import Harness, payloads, publishes
from tests.broker.core.mqtt5 import connect, identifiers_of, publish, subscribe


@pytest.mark.statement("MQTT5-3.8.3-3")
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_no_local_keeps_a_client_from_hearing_itself_and_no_other_client(
    harness: Harness, qos: int
) -> None:
    client = connect(harness, "c")
    subscribe(harness, client, Subscription("t", qos, no_local=True))
    publish(harness, client, "t", b"own", min(qos, 1))
    publish(harness, connect(harness, "p"), "t", b"other", min(qos, 1))
    assert payloads(client.take()) == [b"other"]


@pytest.mark.statement("MQTT5-3.8.3-3")
def test_an_overlapping_subscription_without_no_local_brings_its_own_messages_at_its_own_qos(
    harness: Harness,
) -> None:
    client = connect(harness, "c")
    subscribe(harness, client, Subscription("t/+", 2, no_local=True), Subscription("t/1", 0))
    publish(harness, client, "t/1", b"own")
    publish(harness, connect(harness, "p"), "t/1", b"other")
    got = [(packet.payload, packet.qos) for packet in publishes(client.take())]
    assert got == [(b"own", 0), (b"other", 1)]


@pytest.mark.statement("MQTT5-3.8.3-3")
def test_no_local_is_about_the_client_identifier_and_survives_a_cut(harness: Harness) -> None:
    client = connect(harness, "c")
    subscribe(harness, client, Subscription("t", 1, no_local=True))
    harness.cut()
    client = connect(harness, "c")
    client.take()
    publish(harness, client, "t", b"own")
    assert payloads(client.take()) == []


@pytest.mark.statement("MQTT5-3.3.1-12", "MQTT5-3.3.1-13")
@pytest.mark.parametrize("way", ["live", "away", "cut"])
@pytest.mark.parametrize("qos", [0, 1])
@pytest.mark.parametrize("retain", [False, True])
@pytest.mark.parametrize("as_published", [False, True])
def test_retain_as_published_decides_about_the_flag_of_messages_for_standing_subscriptions(
    harness: Harness, as_published: bool, retain: bool, qos: int, way: str
) -> None:
    harness.limits.mqueue_store_qos0 = True
    client = connect(harness, "c")
    subscribe(harness, client, Subscription("t", 1, retain_as_published=as_published))
    if way != "live":
        harness.lose(client)
    publish(harness, connect(harness, "p"), "t", b"x", qos, retain=retain)
    if way == "cut":
        harness.cut()
    if way != "live":
        client = connect(harness, "c")
    (packet,) = publishes(client.take())
    assert packet.retain is (retain and as_published)


@pytest.mark.statement("MQTT5-3.3.4-2", "MQTT5-3.3.4-3", "MQTT5-3.3.4-4")
@pytest.mark.parametrize("cut", [False, True])
def test_a_message_names_all_subscriptions_it_matched_and_comes_once_at_the_highest_qos(
    harness: Harness, cut: bool
) -> None:
    client = connect(harness, "c")
    subscribe(harness, client, Subscription("t/#", 0), identifier=7)
    subscribe(harness, client, Subscription("t/+", 2), identifier=268_435_455)
    subscribe(harness, client, Subscription("t/1", 1))
    subscribe(harness, client, Subscription("u", 1), identifier=9)
    harness.lose(client)
    if cut:
        harness.checkpoint()
        harness.cut()
    client = connect(harness, "c")
    publish(harness, connect(harness, "p"), "t/1", b"x")
    (packet,) = publishes(client.take())
    assert (packet.qos, identifiers_of(packet)) == (1, [7, 268_435_455])


@pytest.mark.statement("MQTT5-3.3.1-5", "MQTT5-3.3.1-6", "MQTT5-3.3.1-7", "MQTT5-3.3.1-8")
def test_retained_messages_are_replaced_and_removed_as_in_3_1_1(harness: Harness) -> None:
    publisher = connect(harness, "p")
    for payload, retain, expected in (
        (b"1", True, [b"1"]),
        (b"2", False, [b"1"]),
        (b"3", True, [b"3"]),
        (b"", False, [b"3"]),
        (b"", True, []),
    ):
        publish(harness, publisher, "t", payload, 1, retain=retain)
        client = connect(harness, "c", clean=True)
        assert payloads(subscribe(harness, client, Subscription("t", 1))) == expected
        harness.lose(client)


def test_a_session_has_another_source_once_its_user_or_listener_is_another() -> None:
    session = Session(1, "c", True)
    first = source_of(session)
    assert source_of(session) is first
    session.listener = "public"
    second = source_of(session)
    assert second is not first
    session.username = "anna"
    assert source_of(session).username == "anna"
    assert second.username is None
