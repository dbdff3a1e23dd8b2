"""Messages that were queued before rights were revoked are checked again before delivery."""

import pytest

from gateway.broker.core.records.events import decode
from gateway.broker.wire.packets import Publish
from tests.broker.core.harness import Harness, payloads, publishes
from tests.broker.core.permitting import Rules


def publish(harness: Harness, *messages: tuple[str, bytes]) -> None:
    publisher = harness.connect("publisher", clean=True)
    for number, (topic, payload) in enumerate(messages, 1):
        publisher.send(Publish(topic, payload, 1, False, False, number))
    harness.commit()


def dropped(harness: Harness) -> list[str]:
    """Return the reasons of all `message_dropped` events in the session log."""
    return [
        str(event["reason"])
        for blob in harness.blobs
        for event in decode(blob).events
        if event["event"] == "message_dropped"
    ]


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_what_the_rules_forbid_since_is_dropped_counted_and_recorded(
    harness: Harness, is_on_disk: bool
) -> None:
    harness.lose(harness.subscriber("c", "#", 1))
    publish(harness, ("free", b"1"), ("t", b"2"), ("t", b"3"), ("free", b"4"))
    if is_on_disk:
        harness.cut()
    rules = Rules()
    rules.receive.add(("c", "t"))
    harness.broker.restrict(rules)
    assert payloads(harness.connect("c").take()) == [b"1", b"4"]
    assert harness.broker.statistics.dropped == {"refused": 2}
    harness.commit()
    assert dropped(harness) == ["refused", "refused"]
    assert harness.session("c").queued_count == 0
    harness.cut()
    assert harness.session("c").queued_count == 0


def test_what_was_queued_under_rules_that_are_the_same_still_is_not_asked_about_twice(
    harness: Harness, rules: Rules
) -> None:
    harness.lose(harness.subscriber("c", "t", 1))
    publish(harness, ("t", b"1"), ("t", b"2"))
    asked = len(rules.asked)
    assert payloads(harness.connect("c").take()) == [b"1", b"2"]
    assert not [each for each in rules.asked[asked:] if each[0] == "receive"]


def test_only_what_was_queued_before_the_change_is_asked_about(
    harness: Harness, rules: Rules
) -> None:
    harness.lose(harness.subscriber("c", "t", 1))
    publish(harness, ("t", b"before"))
    harness.broker.restrict(rules)
    publish(harness, ("t", b"after"))
    asked = len(rules.asked)
    assert payloads(harness.connect("c").take()) == [b"before", b"after"]
    assert len([each for each in rules.asked[asked:] if each[0] == "receive"]) == 1


def test_what_waits_behind_a_full_window_is_asked_about_and_what_is_in_flight_is_not(
    harness: Harness,
) -> None:
    harness.broker.limits.max_inflight = 1
    client = harness.subscriber("c", "t", 1)
    publish(harness, ("t", b"in flight"), ("t", b"waits"))
    assert payloads(client.take()) == [b"in flight"]
    rules = Rules()
    rules.receive.add(("c", "t"))
    harness.broker.restrict(rules)
    harness.lose(client)
    # The message was sent before, and MQTT requires that it is sent again [MQTT-4.4.0-1].
    again = harness.connect("c").take()
    assert payloads(again) == [b"in flight"]
    assert publishes(again)[0].dup
    assert harness.session("c").queued_count == 1


@pytest.mark.parametrize("may_receive", ["taker", "nobody"])
def test_a_shared_subscription_hands_over_to_members_only_that_may_receive_it_now(
    harness: Harness, may_receive: str
) -> None:
    for name in ("leaver", "other", "taker"):
        harness.lose(harness.subscriber(name, "$share/g/t", 1))
    harness.lose(harness.connect("other", clean=True))
    harness.lose(harness.connect("taker", clean=True))
    publish(harness, ("t", b"1"), ("t", b"2"))
    assert harness.session("leaver").queued_count == 2
    for name in ("other", "taker"):
        harness.lose(harness.subscriber(name, "$share/g/t", 1))
    rules = Rules()
    rules.receive |= {("leaver", "t"), ("other", "t")}
    if may_receive != "taker":
        rules.receive.add(("taker", "t"))
    harness.broker.restrict(rules)
    harness.lose(harness.connect("leaver", clean=True))
    harness.commit()
    expected = [b"1", b"2"] if may_receive == "taker" else []
    assert payloads(harness.connect("taker").take()) == expected
    assert payloads(harness.connect("other").take()) == []
    assert harness.broker.statistics.dropped == ({} if expected else {"no_member": 2})
