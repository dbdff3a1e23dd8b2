"""Shared subscriptions (5.0 section 4.8.2)."""

import pytest

from gateway.broker.wire.packets import (
    Subscription,
    Unsubscribe,
)
from tests.broker.core.harness import Harness, payloads, publishes
from tests.broker.core.mqtt5 import connect, properties, publish, subscribe
from tests.broker.core.rules.subscribe.groups import (
    SHARED,
    identifiers_of,
    member,
    publish_to_group,
)


@pytest.mark.statement("MQTT5-4.8.2-3")
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_each_message_goes_to_one_member_and_all_get_their_share_in_order(
    harness: Harness, qos: int
) -> None:
    members = [member(harness, name, qos=2) for name in "abc"]
    sent = publish_to_group(harness, 30, qos) if qos else []
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
    publish_to_group(harness, 4, 2)
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


def test_a_member_whose_window_is_full_is_passed_over(harness: Harness) -> None:
    slow, quick = member(harness, "slow", receive_maximum=1), member(harness, "quick")
    sent = publish_to_group(harness, 5)
    assert len(publishes(slow.take())) == 1
    assert len(publishes(quick.take())) == 4
    assert len(sent) == 5


def test_a_member_that_is_away_gets_nothing_while_another_is_there(harness: Harness) -> None:
    away, here = member(harness, "away"), member(harness, "here")
    harness.lose(away)
    assert len(publish_to_group(harness, 6)) == len(publishes(here.take()))
    assert harness.session("away").queued_count == 0


def test_when_all_are_away_the_messages_wait_also_across_a_cut(harness: Harness) -> None:
    for name in "ab":
        harness.lose(member(harness, name))
    sent = publish_to_group(harness, 6)
    harness.checkpoint()
    harness.cut()
    got = [payload for name in "ab" for payload in payloads(connect(harness, name).take())]
    assert sorted(got) == sent


def test_a_group_ends_with_its_last_member_and_survives_a_restart(harness: Harness) -> None:
    first, second = member(harness, "first"), member(harness, "second")
    harness.restart()
    assert harness.broker.state.tree.shared_count == 2
    first, second = connect(harness, "first"), connect(harness, "second")
    publish_to_group(harness, 4)
    assert len(publishes(first.take())) == len(publishes(second.take())) == 2
    for client in (first, second):
        client.send(Unsubscribe(1, [SHARED]))
    harness.commit()
    tree = harness.broker.state.tree
    assert (tree.shared_count, tree.subscription_count) == (0, 0)
    assert tree.filters.root.is_empty()
    publish_to_group(harness, 1)
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
    publish_to_group(harness, 1)
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
