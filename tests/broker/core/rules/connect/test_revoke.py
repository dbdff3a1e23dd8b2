"""Revoked rights: connections, stored sessions, wills, and messages that were held at QoS 2."""

import pytest

from gateway.broker.core.effects import AuthenticationAnswer
from gateway.broker.core.permissions import AccessRules, Client
from gateway.broker.core.records.events import decode
from gateway.broker.wire.packets import (
    Connect,
    Disconnect,
    Properties,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Subscribe,
    Subscription,
    Will,
)
from tests.broker.core.harness import Client as Peer
from tests.broker.core.harness import Harness, payloads, publishes

NOT_AUTHORIZED = 0x87
NEVER = 0xFFFF_FFFF


class Rules(AccessRules):
    """Rules that forbid the client `c` to connect, publish or receive, as a test sets them."""

    def __init__(self, *, connect: bool = True, publish: bool = True, receive: bool = True) -> None:
        self.connect, self.publish, self.receive = connect, publish, receive

    def may_connect(self, client: Client) -> bool:
        return self.connect or client.client_id != "c"

    def may_publish(self, client: Client, topic: str, qos: int, retain: bool) -> bool:
        return self.publish or client.client_id != "c"

    def may_receive(self, client: Client, topic: str) -> bool:
        return self.receive or client.client_id != "c"


def log_in(
    harness: Harness,
    username: str,
    client_id: str = "c",
    *,
    version: int = 5,
    will: Will | None = None,
) -> Peer:
    harness.broker.authenticate(True, [])
    client = harness.open_connection(version)
    properties = None
    if version == 5:
        properties = Properties()
        properties.session_expiry_interval_seconds = NEVER
    client.send(Connect(version, client_id, False, 0, will, username, b"secret", properties))
    for request in harness.broker.effects.take_logins():
        answer = AuthenticationAnswer(0, None, request.username)
        harness.broker.authenticated(request.connection, answer, harness.now)
    harness.commit()
    client.take()
    return client


def subscribe(harness: Harness, client: Peer, topic_filter: str) -> None:
    client.send(Subscribe(1, [Subscription(topic_filter, 1)]))
    harness.commit()
    client.take()


def publish(harness: Harness, payload: bytes, topic: str = "t") -> None:
    publisher = harness.connect("publisher", clean=True)
    publisher.send(Publish(topic, payload, 1, False, False, 1))
    harness.commit()


@pytest.mark.parametrize("version", [4, 5])
def test_a_connection_that_rules_forbid_since_is_ended_and_its_session_stays(
    harness: Harness, version: int
) -> None:
    client, other = harness.connect("c", version=version), harness.connect("d", version=version)
    client.take()
    harness.broker.restrict(Rules(connect=False))
    assert harness.broker.enforce(frozenset(), harness.now) == 1
    harness.commit()
    found = client.take()
    assert client.closed
    assert not other.closed
    if version == 5:
        (farewell,) = found
        assert isinstance(farewell, Disconnect)
        assert farewell.reason_code == NOT_AUTHORIZED
    else:
        assert found == []
        assert harness.session("c").connection is None


def test_a_changed_password_ends_the_connections_of_its_user_alone(harness: Harness) -> None:
    anna, ben = log_in(harness, "anna", "a"), log_in(harness, "ben", "b")
    assert harness.broker.enforce(frozenset({"anna"}), harness.now) == 1
    harness.commit()
    assert anna.closed
    assert not ben.closed
    assert not log_in(harness, "anna", "a").closed


def test_an_unproven_name_is_no_user_whose_connections_end(harness: Harness) -> None:
    client = harness.open_connection()
    client.send(Connect(4, "c", True, 0, None, "anna", b"anything"))
    harness.commit()
    assert harness.broker.enforce(frozenset({"anna"}), harness.now) == 0
    assert not client.closed


@pytest.mark.parametrize("is_shared", [False, True])
def test_the_stored_session_of_a_user_that_is_gone_receives_nothing_until_it_is_back(
    harness: Harness, is_shared: bool
) -> None:
    anna = log_in(harness, "anna")
    subscribe(harness, anna, "$share/g/t" if is_shared else "t")
    publish(harness, b"1")
    harness.lose(anna)
    harness.broker.deny_removed_users(frozenset({"ben"}), frozenset())
    publish(harness, b"2")
    assert harness.session("c").queued_count == 0
    assert harness.broker.statistics.errors == {"receive_not_authorized": 1}
    harness.broker.deny_removed_users(frozenset({"anna", "ben"}), frozenset())
    publish(harness, b"3")
    assert harness.session("c").queued_count == 1


def test_the_cut_of_the_power_does_not_bring_a_user_back_that_is_gone(harness: Harness) -> None:
    anna = log_in(harness, "anna")
    subscribe(harness, anna, "t")
    harness.cut()
    harness.broker.authenticate(True, [])
    harness.broker.deny_removed_users(frozenset(), frozenset())
    publish(harness, b"1")
    assert harness.session("c").queued_count == 0


def test_where_users_are_not_known_no_session_is_cut_off(harness: Harness) -> None:
    anna = log_in(harness, "anna")
    subscribe(harness, anna, "t")
    harness.lose(anna)
    harness.broker.deny_removed_users(None, frozenset())
    publish(harness, b"1")
    assert harness.session("c").queued_count == 1


def test_a_user_that_was_removed_receives_again_when_a_source_proves_it(harness: Harness) -> None:
    anna = log_in(harness, "anna")
    subscribe(harness, anna, "t")
    publish(harness, b"before")
    harness.lose(anna)
    harness.broker.deny_removed_users(None, frozenset({"anna", "ben"}))
    publish(harness, b"while gone")
    assert harness.broker.removed_users == {"anna"}
    log_in(harness, "anna")
    assert harness.broker.removed_users == frozenset()
    publish(harness, b"after")
    assert harness.session("c").delivered_messages == 2
    assert harness.broker.statistics.errors == {"receive_not_authorized": 1}


def test_a_late_will_that_is_forbidden_since_is_recorded_as_refused(harness: Harness) -> None:
    watch = harness.subscriber("watch", "#", 1)
    will = Will("gone", b"x", 1, False, Properties())
    assert will.properties is not None
    will.properties.will_delay_interval_seconds = 30
    expiring = Properties()
    expiring.session_expiry_interval_seconds = NEVER
    client = harness.connect("c", version=5, will=will, properties=expiring)
    harness.lose(client)
    harness.broker.restrict(Rules(publish=False))
    harness.advance(31)
    assert watch.take() == []
    assert harness.broker.statistics.errors == {"will_not_authorized": 1}
    harness.commit()
    cleared = [
        event["reason"]
        for blob in harness.blobs
        for event in decode(blob).events
        if event["event"] == "will_cleared"
    ]
    assert cleared == ["refused"]
    harness.cut()
    assert harness.broker.state.wills == {}


def test_the_will_of_a_user_that_is_gone_does_not_go_out(harness: Harness) -> None:
    watch = harness.subscriber("watch", "#", 1)
    anna = log_in(harness, "anna", will=Will("gone", b"x", 1, False))
    harness.broker.deny_removed_users(frozenset(), frozenset())
    assert harness.broker.enforce(frozenset({"anna"}), harness.now) == 1
    harness.commit()
    assert anna.closed
    assert watch.take() == []


def test_a_will_after_a_restart_is_asked_about_with_its_user(harness: Harness) -> None:
    watch = harness.subscriber("watch", "#", 1)
    log_in(harness, "anna", will=Will("gone", b"x", 1, False))

    def forbid() -> None:
        permissions = harness.broker.core.permissions
        harness.broker.core.authenticates = permissions._authenticates = True
        harness.broker.deny_removed_users(frozenset({"ben"}), frozenset())

    harness.recovered_from_files = forbid  # type: ignore[method-assign]
    harness.cut()
    harness.commit()
    watch = harness.connect("watch")
    assert publishes(watch.take()) == []
    assert harness.broker.state.wills == {}


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("clean", [False, True])
def test_a_message_that_was_held_is_asked_about_again_when_it_is_released(
    harness: Harness, version: int, clean: bool
) -> None:
    watch = harness.subscriber("watch", "#", 2)
    client = harness.connect("c", version=version, clean=clean)
    client.take()
    client.send(Publish("t", b"x", 2, True, False, 1))
    harness.commit()
    (pubrec,) = client.take()
    assert isinstance(pubrec, Pubrec)
    harness.broker.restrict(Rules(publish=False))
    client.send(Pubrel(1))
    harness.commit()
    (pubcomp,) = client.take()
    assert isinstance(pubcomp, Pubcomp)
    assert watch.take() == []
    assert harness.broker.state.retained == {}
    assert harness.broker.statistics.errors == {"publish_not_authorized": 1}
    harness.broker.restrict(None)
    client.send(Publish("t", b"y", 2, False, False, 1), Pubrel(1))
    harness.commit()
    assert payloads(watch.take()) == [b"y"]


@pytest.mark.parametrize("start", ["cut", ""])
def test_a_session_whose_certificate_is_revoked_while_it_is_away_does_nothing_more(
    harness: Harness, start: str
) -> None:
    properties = Properties()
    properties.will_delay_interval_seconds = 30
    expiring = Properties()
    expiring.session_expiry_interval_seconds = 3_600
    will = Will("gone", b"x", 1, False, properties)
    for client_id in ("c", "other"):
        client = harness.open_connection(5)
        client.connection.certificate = f"certificate of {client_id}"
        client.send(Connect(5, client_id, False, 0, will, None, None, expiring))
        client.send(Subscribe(1, [Subscription("t", 1)]))
        harness.commit()
    for client in list(harness.clients.values()):
        harness.lose(client)
    if start:
        getattr(harness, start)()
        harness.session("c").certificate = "certificate of c"  # as read from a file
    assert harness.broker.revoke_certificates(frozenset({"certificate of c"})) == 1
    assert harness.broker.revoke_certificates(frozenset({"certificate of c"})) == 0
    publisher = harness.connect("publisher", clean=True)
    publisher.send(Publish("t", b"1", 1, False, False, 1))
    harness.commit()
    assert [harness.session(each).queued_count for each in ("c", "other")] == [0, 1]
    harness.advance(31)
    assert harness.broker.statistics.errors["will_not_authorized"] == 1
    back = harness.connect("c", version=5, properties=expiring)
    back.take()
    publisher.send(Publish("t", b"2", 1, False, False, 2))
    harness.commit()
    assert payloads(back.take()) == [b"2"], "its client is back with another proof"


def test_a_session_whose_client_is_connected_is_not_taken_for_revoked(harness: Harness) -> None:
    client = harness.open_connection(5)
    client.connection.certificate = "one"
    client.send(Connect(5, "c", True, 0, None, None, None))
    harness.commit()
    assert harness.broker.revoke_certificates(frozenset({"one"})) == 0
    assert not harness.session("c").is_revoked
