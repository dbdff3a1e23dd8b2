"""Shared subscriptions (5.0 section 4.8.2)."""

from typing import Any

import pytest

from gateway.wire.packets import (
    Disconnect,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Subscription,
    Unsubscribe,
)
from tests.core.harness import Client, Harness, payloads, publishes
from tests.core.mqtt5 import connect, properties, publish, subscribe

SHARED = "$share/g/t/#"


def member(
    harness: Harness, client_id: str, *, qos: int = 2, identifier: int = 0, **values: Any
) -> Client:
    client = connect(harness, client_id, **values)
    subscribe(harness, client, Subscription(SHARED, qos), identifier=identifier)
    return client


def publish_many(harness: Harness, count: int, qos: int = 1) -> list[bytes]:
    publisher = harness.connect("publisher", clean=True)
    for number in range(count):
        publisher.send(Publish("t/1", b"%d" % number, qos, False, False, number + 1))
        if qos == 2:
            publisher.send(Pubrel(number + 1))
    harness.commit()
    return [b"%d" % number for number in range(count)]


@pytest.mark.statement("MQTT5-4.8.2-3")
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_each_message_goes_to_one_member_and_all_get_their_share_in_order(
    harness: Harness, qos: int
) -> None:
    members = [member(harness, name, qos=2) for name in "abc"]
    sent = publish_many(harness, 30, qos) if qos else []
    if not qos:
        publisher = connect(harness, "p")
        for number in range(30):
            publish(harness, publisher, "t/1", b"%d" % number, 0)
        sent = [b"%d" % number for number in range(30)]
    shares = [payloads(client.take()) for client in members]
    assert [len(share) for share in shares] == [10, 10, 10]
    assert sorted(payload for share in shares for payload in share) == sorted(sent)
    for share in shares:
        assert share == sorted(share, key=int)


@pytest.mark.statement("MQTT5-4.8.2-3")
def test_a_member_gets_no_more_than_the_qos_it_was_granted(harness: Harness) -> None:
    low, high = member(harness, "low", qos=0), member(harness, "high", qos=2)
    publish_many(harness, 4, 2)
    assert {packet.qos for packet in publishes(low.take())} == {0}
    assert {packet.qos for packet in publishes(high.take())} == {2}


def test_groups_and_plain_subscriptions_each_get_their_copy(harness: Harness) -> None:
    client = connect(harness, "c")
    subscribe(harness, client, Subscription("$share/g/t", 1), identifier=1)
    subscribe(harness, client, Subscription("$share/h/+", 1), identifier=2)
    subscribe(harness, client, Subscription("t", 1), identifier=3)
    publish(harness, connect(harness, "p"), "t", b"x")
    assert sorted(identifiers_of(client)) == [[1], [2], [3]]


@pytest.mark.statement("MQTT5-3.3.4-3", "MQTT5-3.3.4-4")
def test_a_copy_names_the_group_it_came_through_also_from_the_queue_and_after_a_cut(
    harness: Harness,
) -> None:
    client = connect(harness, "c", receive_maximum=1)
    subscribe(harness, client, Subscription("$share/g/t", 1), identifier=1)
    subscribe(harness, client, Subscription("$share/h/+", 1), identifier=2)
    subscribe(harness, client, Subscription("t", 1), identifier=3)
    publish(harness, connect(harness, "p"), "t", b"x")
    assert len(identifiers_of(client)) == 1
    harness.cut()
    client = connect(harness, "c", receive_maximum=10)
    assert sorted(identifiers_of(client)) == [[1], [2], [3]], "from the journal"
    harness.checkpoint()
    harness.cut()
    client = connect(harness, "c", receive_maximum=10)
    assert sorted(identifiers_of(client)) == [[1], [2], [3]], "from the tables"


def test_what_came_through_a_group_goes_on_in_that_group_when_its_member_ends(
    harness: Harness,
) -> None:
    leaving = connect(harness, "leaving", expiry=0)
    subscribe(harness, leaving, Subscription("$share/g/t", 1))
    subscribe(harness, leaving, Subscription("$share/h/t", 1))
    publish(harness, connect(harness, "p"), "t", b"x")
    others = {}
    for group in "gh":
        others[group] = connect(harness, group)
        subscribe(harness, others[group], Subscription(f"$share/{group}/t", 1))
    leaving.send(Disconnect())
    harness.commit()
    assert payloads(others["g"].take()) == payloads(others["h"].take()) == [b"x"]


@pytest.mark.parametrize("cut", [False, True])
def test_what_waited_on_disk_only_goes_to_another_as_well(harness: Harness, cut: bool) -> None:
    away = member(harness, "away", receive_maximum=2)
    harness.lose(away)
    sent = publish_many(harness, 600)
    assert harness.session("away").queued_count == 600
    harness.checkpoint()
    harness.seal()
    if cut:
        harness.cut()
    assert harness.session("away").stored_count == 600
    other = member(harness, "other", qos=1)
    harness.broker.drop_session(harness.session("away"), harness.now)
    harness.commit()
    got = payloads(other.take())
    while len(got) < len(sent):
        harness.cut()  # none of it was lost from the disk with the session that it had been for
        other = connect(harness, "other")
        more = payloads(other.take())
        assert more, f"{len(got)} of {len(sent)}"
        other.send(*(Puback(number) for number in list(harness.session("other").outbound)))
        harness.commit()
        got += [payload for payload in more if payload not in got]
    assert got == sent
    harness.checkpoint()


def test_a_message_that_only_a_clean_member_still_had_is_on_disk_before_another_has_it(
    harness: Harness,
) -> None:
    clean = member(harness, "clean", qos=1, expiry=0)
    persistent = connect(harness, "persistent")
    subscribe(harness, persistent, Subscription("t/#", 1))
    publish(harness, connect(harness, "p"), "t/1", b"x")
    persistent.send(Puback(1))
    harness.commit()
    harness.checkpoint()  # the message has no row, and its blob is covered
    other = member(harness, "other", qos=1, receive_maximum=1)
    clean.send(Disconnect())
    harness.commit()
    assert payloads(other.take()) == [b"x"]
    harness.cut()
    assert payloads(connect(harness, "other").take()) == [b"x"]


def identifiers_of(client: Client) -> list[list[int]]:
    """Return the subscription identifiers of each PUBLISH that came."""
    packets = publishes(client.take())
    return [
        packet.properties.subscription_identifiers if packet.properties else []
        for packet in packets
    ]


def test_a_member_whose_window_is_full_is_passed_over(harness: Harness) -> None:
    slow, quick = member(harness, "slow", receive_maximum=1), member(harness, "quick")
    sent = publish_many(harness, 5)
    assert len(publishes(slow.take())) == 1
    assert len(publishes(quick.take())) == 4
    assert len(sent) == 5


def test_a_member_that_is_away_gets_nothing_while_another_is_there(harness: Harness) -> None:
    away, here = member(harness, "away"), member(harness, "here")
    harness.lose(away)
    assert len(publish_many(harness, 6)) == len(publishes(here.take()))
    assert harness.session("away").queued_count == 0


def test_when_all_are_away_the_messages_wait_also_across_a_cut(harness: Harness) -> None:
    for name in "ab":
        harness.lose(member(harness, name))
    sent = publish_many(harness, 6)
    harness.checkpoint()
    harness.cut()
    got = [payload for name in "ab" for payload in payloads(connect(harness, name).take())]
    assert sorted(got) == sent


@pytest.mark.parametrize("how", ["clean session", "expired", "discarded", "disconnect"])
@pytest.mark.statement("MQTT5-4.8.2-4", "MQTT5-4.8.2-5")
def test_a_member_that_ends_hands_on_qos_1_and_never_qos_2(harness: Harness, how: str) -> None:
    leaver = member(harness, "leaver", expiry=0 if how == "clean session" else 10)
    publish_many(harness, 2, 1)
    publish_many(harness, 2, 2)
    assert len(publishes(leaver.take())) == 4
    stayer = member(harness, "stayer")
    if how == "disconnect":
        leaver.send(Disconnect(0, properties(session_expiry_interval_seconds=0)))
        harness.commit()
    else:
        harness.lose(leaver)
        harness.commit()
    if how in ("expired", "discarded"):
        assert publishes(stayer.take()) == []  # its session waits for it
    if how == "expired":
        harness.advance(10)
    elif how == "discarded":
        connect(harness, "leaver", clean=True)
    packets = publishes(stayer.take())
    assert [(packet.payload, packet.qos, packet.dup) for packet in packets] == [
        (b"0", 1, False),
        (b"1", 1, False),
    ]
    harness.cut()
    assert payloads(connect(harness, "stayer").take()) == [b"0", b"1"]
    assert "leaver" not in harness.broker.state.sessions or how == "discarded"


@pytest.mark.statement("MQTT5-4.8.2-4")
def test_qos_2_is_completed_with_the_member_that_began_it(harness: Harness) -> None:
    first = member(harness, "first")
    publish_many(harness, 1, 2)
    (packet,) = publishes(first.take())
    other = member(harness, "other")
    harness.lose(first)
    harness.cut()
    first, other = connect(harness, "first"), connect(harness, "other")
    (again,) = publishes(first.take())
    assert (again.packet_id, again.dup) == (packet.packet_id, True)
    first.send(Pubrec(packet.packet_id), Pubcomp(packet.packet_id))
    harness.commit()
    first.send(Pubcomp(packet.packet_id))
    harness.commit()
    assert publishes(other.take()) == []


@pytest.mark.statement("MQTT5-4.8.2-6")
@pytest.mark.parametrize("qos", [1, 2])
def test_what_a_member_refuses_is_discarded(harness: Harness, qos: int) -> None:
    first = member(harness, "first")
    publish_many(harness, 1, qos)
    (packet,) = publishes(first.take())
    other = member(harness, "other")
    first.send((Puback if qos == 1 else Pubrec)(packet.packet_id, 0x83))
    harness.commit()
    harness.lose(first)
    connect(harness, "first", clean=True)
    assert publishes(other.take()) == []


def test_what_waited_for_a_member_that_ends_goes_to_another(harness: Harness) -> None:
    leaver = member(harness, "leaver", expiry=10)
    harness.lose(leaver)
    sent = publish_many(harness, 3, 2)
    assert harness.session("leaver").queued_count == 3
    stayer = member(harness, "stayer")
    harness.advance(11)
    assert payloads(stayer.take()) == sent


def test_a_group_ends_with_its_last_member_and_survives_a_restart(harness: Harness) -> None:
    first, second = member(harness, "first"), member(harness, "second")
    harness.restart()
    assert harness.broker.state.tree.shared_count == 2
    first, second = connect(harness, "first"), connect(harness, "second")
    publish_many(harness, 4)
    assert len(publishes(first.take())) == len(publishes(second.take())) == 2
    for client in (first, second):
        client.send(Unsubscribe(1, [SHARED]))
    harness.commit()
    tree = harness.broker.state.tree
    assert (tree.shared_count, tree.subscription_count) == (0, 0)
    assert tree.filters.root.is_empty()
    publish_many(harness, 1)
    assert harness.session("first").queued_count == 0


def test_a_shared_subscription_brings_no_retained_message(harness: Harness) -> None:
    publish(harness, connect(harness, "p"), "t/1", b"x", 1, retain=True)
    client = connect(harness, "c")
    assert publishes(subscribe(harness, client, Subscription(SHARED, 1))) == []


@pytest.mark.parametrize("as_published", [False, True])
def test_a_shared_subscription_may_ask_for_retain_as_published(
    harness: Harness, as_published: bool
) -> None:
    client = connect(harness, "c")
    wanted = Subscription(SHARED, 1, retain_as_published=as_published)
    subscribe(harness, client, wanted)
    publish(harness, connect(harness, "p"), "t/1", b"x", 1, retain=True)
    (packet,) = publishes(client.take())
    assert packet.retain is as_published


@pytest.mark.statement("MQTT5-3.3.4-3")
@pytest.mark.parametrize("cut", [False, True])
def test_the_identifier_of_a_shared_subscription_comes_with_its_messages(
    harness: Harness, cut: bool
) -> None:
    client = member(harness, "c", identifier=12)
    harness.lose(client)
    publish_many(harness, 1)
    if cut:
        harness.checkpoint()
        harness.cut()
    (packet,) = publishes(connect(harness, "c").take())
    assert packet.properties == properties(subscription_identifiers=[12])


@pytest.mark.statement("MQTT5-4.8.2-1", "MQTT5-4.8.2-2", "MQTT5-3.8.3-4")
@pytest.mark.parametrize(
    "wrong",
    [
        Subscription("$share/g", 1),
        Subscription("$share/g/", 1),
        Subscription("$share//t", 1),
        Subscription("$share/a+/t", 1),
        Subscription("$share/#/t", 1),
        Subscription("$share/g/t#", 1),
        Subscription("$share/g/t", 1, no_local=True),
    ],
)
def test_a_shared_subscription_with_a_wrong_name_or_no_local_ends_the_connection(
    harness: Harness, wrong: Subscription
) -> None:
    client = connect(harness, "c")
    subscribe(harness, client, wrong)
    assert client.closed
    assert not harness.session("c").subscriptions


def test_a_member_that_is_a_publisher_gets_its_share_of_its_own_messages(
    harness: Harness,
) -> None:
    client, other = member(harness, "c"), member(harness, "other")
    for number in range(4):
        publish(harness, client, "t/1", b"%d" % number)
    assert len(publishes(client.take())) == len(publishes(other.take())) == 2
