"""Permission to connect, publish and subscribe: every check, with packets of both versions."""

from pathlib import Path

import pytest

from gateway.broker.core.permissions import Client
from gateway.broker.wire.packets import (
    Connect,
    Puback,
    Pubcomp,
    Pubrec,
    Pubrel,
    Will,
)
from tests.broker.core.harness import Client as Peer
from tests.broker.core.harness import Harness, publishes
from tests.broker.core.permitting import (
    NOT_AUTHORIZED,
    Rules,
    answered,
    both_versions,
    connack_of,
    errors,
    message,
    subscribed,
)

FAILURE = 0x80


# -- connect


@pytest.mark.parametrize(("version", "code"), [(4, 5), (5, NOT_AUTHORIZED)])
def test_a_client_that_must_not_connect_is_refused_after_authentication(
    harness: Harness, rules: Rules, version: int, code: int
) -> None:
    rules.connect.add("c")
    client, found = connack_of(harness, version, "c")
    assert found == code
    assert client.closed
    assert errors(harness) == {"not_authorized": 1}
    assert "c" not in harness.broker.state.sessions
    assert connack_of(harness, version, "other")[1] == 0


def test_a_refused_client_does_not_take_over_the_session_of_its_identifier(
    harness: Harness,
) -> None:
    there = harness.connect("c")
    rules = Rules()
    rules.connect.add("c")
    harness.broker.restrict(rules)
    assert connack_of(harness, 4, "c")[1] == 5
    assert not there.closed


# -- publish


def test_a_forbidden_publish_at_qos_0_goes_nowhere_and_is_counted(
    harness: Harness, rules: Rules
) -> None:
    watch = harness.subscriber("watch", "#", 0)
    client = harness.connect("c")
    client.take()
    rules.publish.add(("c", "t"))
    assert answered(harness, client, message(0), message(0, "free")) == []
    assert [packet.topic for packet in publishes(watch.take())] == ["free"]
    assert errors(harness) == {"publish_not_authorized": 1}
    assert harness.broker.statistics.publishes_refused == 1


@pytest.mark.statement("MQTT-3.3.5-2")
@both_versions
def test_a_forbidden_publish_at_qos_1_is_acknowledged_and_goes_nowhere(
    harness: Harness, rules: Rules, version: int
) -> None:
    # Before 5.0 a PUBACK cannot report a refusal.
    watch = harness.subscriber("watch", "#", 1)
    client = harness.connect("c", version=version)
    client.take()
    rules.publish.add(("c", "t"))
    (puback,) = answered(harness, client, message(1))
    assert isinstance(puback, Puback)
    assert puback.reason_code == (NOT_AUTHORIZED if version == 5 else 0)
    assert watch.take() == []
    assert errors(harness) == {"publish_not_authorized": 1}


@pytest.mark.statement("MQTT-3.3.5-2")
@both_versions
def test_a_forbidden_publish_at_qos_2_is_not_held(
    harness: Harness, rules: Rules, version: int
) -> None:
    watch = harness.subscriber("watch", "#", 2)
    client = harness.connect("c", version=version)
    client.take()
    rules.publish.add(("c", "t"))
    (pubrec,) = answered(harness, client, message(2))
    assert isinstance(pubrec, Pubrec)
    assert pubrec.reason_code == (NOT_AUTHORIZED if version == 5 else 0)
    assert not harness.session("c").inbound
    if version == 4:
        (pubcomp,) = answered(harness, client, Pubrel(1))
        assert isinstance(pubcomp, Pubcomp)
    assert watch.take() == []
    assert errors(harness) == {"publish_not_authorized": 1}


def test_a_forbidden_message_is_not_retained(harness: Harness, rules: Rules) -> None:
    client = harness.connect("c")
    rules.publish.add(("c", "t"))
    answered(harness, client, message(1, retain=True))
    assert harness.broker.state.retained == {}


# -- wills


@pytest.mark.parametrize(("version", "code"), [(4, 5), (5, NOT_AUTHORIZED)])
def test_a_client_whose_will_it_must_not_publish_is_refused(
    harness: Harness, rules: Rules, version: int, code: int
) -> None:
    rules.publish.add(("c", "gone"))
    assert connack_of(harness, version, "c", Will("gone", b"x", 1, False))[1] == code
    assert errors(harness) == {"will_not_authorized": 1}
    assert connack_of(harness, version, "c", Will("other", b"x", 1, False))[1] == 0


def test_a_will_that_was_forbidden_since_connect_does_not_go_out_and_does_not_come_back(
    harness: Harness, rules: Rules
) -> None:
    watch = harness.subscriber("watch", "#", 1)
    client = harness.connect("c", will=Will("gone", b"x", 1, True))
    rules.publish.add(("c", "gone"))
    harness.lose(client)
    harness.commit()
    assert watch.take() == []
    assert errors(harness) == {"will_not_authorized": 1}
    assert harness.broker.state.retained == {}
    harness.cut()
    assert harness.broker.state.wills == {}


# -- subscribe


@pytest.mark.parametrize(("version", "code"), [(4, FAILURE), (5, NOT_AUTHORIZED)])
def test_each_forbidden_filter_of_a_subscribe_is_refused_and_the_others_are_not(
    harness: Harness, rules: Rules, version: int, code: int
) -> None:
    client = harness.connect("c", version=version)
    client.take()
    rules.subscribe.add(("c", "secret/#"))
    assert subscribed(harness, client, "a", "secret/#", "b") == [2, code, 2]
    assert list(harness.session("c").subscriptions) == ["a", "b"]
    assert errors(harness) == {"subscribe_not_authorized": 1}


def test_a_filter_that_was_subscribed_to_before_is_asked_about_again(
    harness: Harness, rules: Rules
) -> None:
    client = harness.connect("c")
    client.take()
    assert subscribed(harness, client, "t") == [2]
    rules.subscribe.add(("c", "t"))
    assert subscribed(harness, client, "t") == [FAILURE]


def test_a_shared_subscription_is_asked_about_with_its_group(
    harness: Harness, rules: Rules
) -> None:
    client = harness.connect("c", version=5)
    client.take()
    rules.subscribe.add(("c", "$share/group/secret/#"))
    assert subscribed(harness, client, "$share/group/secret/#", "$share/group/a") == [
        NOT_AUTHORIZED,
        2,
    ]


# -- the client that a rule is asked about


class ByListener(Rules):
    """Rules that deliver messages only to clients of the listener `inside`."""

    def may_receive(self, client: Client, topic: str) -> bool:
        return client.listener == "inside"


def at_listener(harness: Harness, client_id: str, listener: str) -> Peer:
    connection = harness.broker.accept("127.0.0.1:1", True, harness.now, None, listener)
    client = Peer(harness, connection, 4)
    harness.clients[connection] = client
    client.send(Connect(4, client_id, False, 0, None, None, None))
    harness.commit()
    client.take()
    return client


def test_a_client_that_comes_back_through_another_listener_is_asked_about_there(
    harness: Harness,
) -> None:
    harness.broker.restrict(ByListener())
    publisher = harness.connect("publisher")
    client = at_listener(harness, "c", "inside")
    subscribed(harness, client, "#", qos=0)
    answered(harness, publisher, message(0))
    assert len(publishes(client.take())) == 1
    client = at_listener(harness, "c", "outside")
    answered(harness, publisher, message(0))
    assert client.take() == []


def test_a_user_name_counts_only_where_there_are_passwords_to_prove_it(
    harness: Harness, rules: Rules
) -> None:
    client = harness.open_connection()
    client.send(Connect(4, "c", True, 0, None, "alice", b"anything"))
    harness.commit()
    assert rules.asked == [("connect", "c", None, "")]


def test_without_rules_nothing_is_asked(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    rules = Rules()
    harness.broker.restrict(rules)
    harness.broker.restrict(None)
    watch = harness.subscriber("watch", "#", 1)
    answered(harness, harness.connect("c"), message(1))
    assert len(publishes(watch.take())) == 1
    assert rules.asked == []
    harness.close()
