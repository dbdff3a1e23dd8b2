"""Permission to receive: routes, shared subscriptions, retained messages and $SYS."""

import pytest

from gateway.broker.wire.packets import (
    Puback,
    Pubrel,
    Subscribe,
    Subscription,
)
from tests.broker.core.harness import Harness, payloads, publishes
from tests.broker.core.permitting import (
    Rules,
    answered,
    errors,
    message,
    subscribed,
)

FAILURE = 0x80


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("clean", [True, False])
def test_a_message_goes_to_those_only_who_may_receive_it(
    harness: Harness, rules: Rules, qos: int, clean: bool
) -> None:
    refused = harness.subscriber("refused", "#", qos, clean=clean)
    other = harness.subscriber("other", "#", qos, clean=clean)
    publisher = harness.connect("publisher")
    rules.receive.add(("refused", "t"))
    answered(harness, publisher, message(qos), *([Pubrel(1)] if qos == 2 else []))
    answered(harness, publisher, message(0, "free"))
    assert [packet.topic for packet in publishes(other.take())] == ["t", "free"]
    assert [packet.topic for packet in publishes(refused.take())] == ["free"]
    assert errors(harness) == {"receive_not_authorized": 1}
    assert harness.broker.statistics.dropped == {}


def test_a_message_that_a_client_must_not_receive_does_not_enter_its_queue_while_it_is_away(
    harness: Harness, rules: Rules
) -> None:
    away = harness.subscriber("away", "#", 1)
    harness.lose(away)
    rules.receive.add(("away", "t"))
    answered(harness, harness.connect("publisher"), message(1))
    assert harness.session("away").queued_count == 0


def test_a_5_0_publisher_learns_that_no_client_may_receive_its_message(
    harness: Harness, rules: Rules
) -> None:
    harness.subscriber("refused", "#", 1)
    publisher = harness.connect("publisher", version=5)
    publisher.take()
    rules.receive.add(("refused", "t"))
    (puback,) = answered(harness, publisher, message(1))
    assert isinstance(puback, Puback)
    assert puback.reason_code == 0x10, "no matching subscribers"


@pytest.mark.parametrize("qos", [0, 1])
def test_of_a_shared_subscription_a_member_gets_the_message_that_may_receive_it(
    harness: Harness, rules: Rules, qos: int
) -> None:
    members = [harness.connect(name, version=5) for name in ("refused", "other")]
    for member in members:
        member.take()
        subscribed(harness, member, "$share/group/#", qos=qos)
    publisher = harness.connect("publisher")
    rules.receive.add(("refused", "t"))
    for _ in range(4):
        answered(harness, publisher, message(qos))
    assert [len(publishes(member.take())) for member in members] == [0, 4]


def test_a_shared_subscription_of_which_no_member_may_receive_counts_as_refused(
    harness: Harness, rules: Rules
) -> None:
    member = harness.connect("refused", version=5)
    member.take()
    subscribed(harness, member, "$share/group/#")
    rules.receive.add(("refused", "t"))
    answered(harness, harness.connect("publisher"), message(1))
    assert errors(harness) == {"receive_not_authorized": 1}
    assert harness.broker.statistics.dropped == {}


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("qos", [0, 1])
def test_what_is_retained_goes_to_a_new_subscriber_only_where_it_may_receive_it(
    harness: Harness, rules: Rules, clean: bool, qos: int
) -> None:
    publisher = harness.connect("publisher")
    answered(harness, publisher, message(qos, "t", retain=True), message(qos, "a", retain=True))
    rules.receive.add(("c", "t"))
    client = harness.connect("c", clean=clean)
    client.take()
    packets = answered(harness, client, Subscribe(1, [Subscription("#", qos)]))
    assert [packet.topic for packet in publishes(packets)] == ["a"]
    assert errors(harness) == {"receive_not_authorized": 1}


def test_the_values_under_sys_go_to_those_only_who_may_receive_them(
    harness: Harness, rules: Rules
) -> None:
    rules.receive.add(("refused", "$SYS/broker/uptime"))
    clients = [harness.connect(name) for name in ("refused", "other")]
    for client in clients:
        client.take()
        subscribed(harness, client, "$SYS/#")
    harness.broker.answer_system_subscriptions(
        {"$SYS/broker/uptime": b"1", "$SYS/broker/version": b"v"}
    )
    harness.flush()
    assert [payloads(client.take()) for client in clients] == [[b"v"], [b"1", b"v"]]
    harness.broker.publish_system_values({"$SYS/broker/uptime": b"2"})
    harness.flush()
    assert [payloads(client.take()) for client in clients] == [[], [b"2"]]


def test_other_rules_hold_for_topics_that_were_published_to_before(harness: Harness) -> None:
    watch = harness.subscriber("watch", "#", 0)
    publisher = harness.connect("publisher")
    answered(harness, publisher, message(0))
    assert len(publishes(watch.take())) == 1
    rules = Rules()
    rules.receive.add(("watch", "t"))
    harness.broker.restrict(rules)
    answered(harness, publisher, message(0))
    assert watch.take() == []
    harness.broker.restrict(None)
    answered(harness, publisher, message(0))
    assert len(publishes(watch.take())) == 1
