"""A retained message is sent only while its publisher may publish it (CVE-2018-12546)."""

from collections.abc import Callable

import pytest

from gateway.broker.wire.packets import Publish, Pubrel, Subscribe, Subscription, Will
from tests.broker.core.harness import Harness, payloads
from tests.broker.core.permitting import Rules, errors


def retained_for(
    harness: Harness, client_id: str, qos: int = 1, *, clean: bool = True
) -> list[bytes]:
    """Return the payloads that a new subscriber to `#` receives."""
    client = harness.connect(client_id, clean=clean)
    client.send(Subscribe(1, [Subscription("#", qos)]))
    harness.commit()
    found = payloads(client.take())
    harness.lose(client)
    harness.commit()
    return found


def publish(harness: Harness, client_id: str, topic: str, qos: int) -> None:
    client = harness.connect(client_id, clean=True)
    client.send(Publish(topic, b"kept", qos, True, False, 1 if qos else 0))
    if qos == 2:
        client.send(Pubrel(1))
    harness.commit()
    harness.lose(client)
    harness.commit()


def nothing(harness: Harness) -> None:
    """Do nothing to the broker: it continues."""


def cut(harness: Harness) -> None:
    harness.cut()


def checkpoint_and_cut(harness: Harness) -> None:
    harness.checkpoint()
    harness.cut()


def restart(harness: Harness) -> None:
    harness.restart()


@pytest.mark.parametrize("between", [nothing, cut, checkpoint_and_cut, restart])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_publisher_whose_right_was_taken_away_is_heard_no_more(
    harness: Harness, qos: int, between: Callable[[Harness], None]
) -> None:
    publish(harness, "bad", "t", qos)
    publish(harness, "good", "u", qos)
    between(harness)
    assert sorted(harness.broker.state.retained) == ["t", "u"]
    rules = Rules()
    harness.broker.restrict(rules)
    assert retained_for(harness, "r") == [b"kept", b"kept"]
    rules.publish.add(("bad", "t"))
    harness.broker.restrict(rules)
    for number, (wanted, clean) in enumerate([(0, True), (1, True), (1, False), (2, False)]):
        assert retained_for(harness, f"r{number}", wanted, clean=clean) == [b"kept"]
    assert errors(harness)["retained_source_not_authorized"] == 4
    harness.broker.restrict(None)
    assert retained_for(harness, "r") == [b"kept", b"kept"], "it is still there"


@pytest.mark.parametrize("between", [nothing, cut, checkpoint_and_cut])
def test_a_will_that_is_retained_is_its_client_s(
    harness: Harness, between: Callable[[Harness], None]
) -> None:
    client = harness.connect("bad", clean=True, will=Will("t", b"gone", 1, True))
    harness.lose(client)
    harness.commit()
    between(harness)
    rules = Rules()
    harness.broker.restrict(rules)
    assert retained_for(harness, "r") == [b"gone"]
    rules.publish.add(("bad", "t"))
    harness.broker.restrict(rules)
    assert retained_for(harness, "r") == []


def test_with_the_check_switched_off_it_is_sent(harness: Harness) -> None:
    publish(harness, "bad", "t", 1)
    rules = Rules()
    rules.publish.add(("bad", "t"))
    harness.broker.restrict(rules)
    harness.limits.check_retain_source = False
    assert retained_for(harness, "r") == [b"kept"]


def test_the_rules_are_asked_once_for_many_messages_of_one_publisher_and_topic(
    harness: Harness,
) -> None:
    publish(harness, "p", "t", 1)
    rules = Rules()
    harness.broker.restrict(rules)
    for number in range(5):
        retained_for(harness, f"r{number}")
    assert [each for each in rules.asked if each[0] == "publish"] == [("publish", "p", None, "")]


def test_another_publisher_s_message_in_its_place_is_sent(harness: Harness) -> None:
    publish(harness, "bad", "t", 1)
    publish(harness, "good", "t", 1)
    rules = Rules()
    rules.publish.add(("bad", "t"))
    harness.broker.restrict(rules)
    assert retained_for(harness, "r") == [b"kept"]
