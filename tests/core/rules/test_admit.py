"""Sessions of MQTT 5.0: clean start, expiry, what CONNACK grants, takeover."""

from pathlib import Path

import pytest

from gateway.core.effects import AuthenticationAnswer
from gateway.core.limits import Limits
from gateway.core.records.kinds import CloseReason
from gateway.wire.packets import Connack, Connect, Disconnect, Puback, Publish, Subscription
from tests.core.harness import Client, Harness, payloads, publishes
from tests.core.mqtt5 import (
    NEVER,
    connack_of,
    connect,
    end_of,
    granted,
    properties,
    publish,
    subscribe,
    subscriber,
    will,
)


def is_there(harness: Harness, client_id: str = "c") -> bool:
    return client_id in harness.broker.state.sessions


@pytest.mark.statement("MQTT5-4.1.0-2", "MQTT5-4.1.0-1", "MQTT5-3.1.2-23")
@pytest.mark.parametrize("cut", ["none", "cut", "restart"])
def test_a_session_ends_when_its_expiry_interval_has_passed_and_not_before(
    harness: Harness, cut: str
) -> None:
    client = connect(harness, "c", expiry=10)
    harness.advance(1_000)  # connected, it does not age
    harness.lose(client)
    harness.commit()
    if cut == "cut":
        harness.cut()
    elif cut == "restart":
        harness.restart()
    harness.advance(9)
    assert is_there(harness)
    harness.advance(1)
    assert not is_there(harness)
    assert connack_of(connect(harness, "c")).session_present is False


@pytest.mark.statement("MQTT5-4.1.0-2")
def test_a_session_that_was_resumed_counts_from_its_last_end(harness: Harness) -> None:
    harness.lose(connect(harness, "c", expiry=10))
    harness.advance(8)
    harness.lose(connect(harness, "c", expiry=10))
    harness.advance(8)
    assert is_there(harness)
    harness.advance(2)
    assert not is_there(harness)


def test_the_time_the_broker_was_off_counts(harness: Harness) -> None:
    harness.lose(connect(harness, "c", expiry=10))
    harness.commit()
    harness.time_ms += 60_000  # no power for a minute
    harness.cut()
    harness.advance(0)
    assert not is_there(harness)


@pytest.mark.statement("MQTT5-4.1.0-2", "MQTT5-3.1.2-23")
@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize(
    ("at_connect", "at_disconnect", "lives_seconds"),
    [(10, 0, 0), (10, 30, 30), (NEVER, 5, 5), (5, NEVER, None), (10, None, 10)],
)
def test_the_expiry_interval_can_be_changed_at_disconnect(
    harness: Harness,
    at_connect: int,
    at_disconnect: int | None,
    lives_seconds: int | None,
    cut: bool,
) -> None:
    client = connect(harness, "c", expiry=at_connect)
    changed = None
    if at_disconnect is not None:
        changed = properties(session_expiry_interval_seconds=at_disconnect)
    client.send(Disconnect(0, changed))
    harness.commit()
    if cut:
        harness.checkpoint()
        harness.cut()
    if lives_seconds is None:
        harness.advance(1_000_000)
        assert is_there(harness)
        return
    if lives_seconds:
        harness.advance(lives_seconds - 1)
        assert is_there(harness)
        harness.advance(1)
    assert not is_there(harness)


def test_a_session_without_expiry_cannot_be_given_one_at_disconnect(harness: Harness) -> None:
    watch = subscriber(harness, "watch", "w", 1)
    client = connect(harness, "c", expiry=0, will=will())
    client.send(Disconnect(0, properties(session_expiry_interval_seconds=10)))
    harness.commit()
    assert end_of(client) == 0x82
    assert not is_there(harness)
    assert payloads(watch.take()) == [b"will"]


@pytest.mark.statement(
    "MQTT5-3.1.2-4", "MQTT5-3.1.2-5", "MQTT5-3.1.2-6", "MQTT5-3.2.2-2", "MQTT5-3.2.2-3"
)
def test_clean_start_and_session_present_are_about_two_different_things(harness: Harness) -> None:
    # Clean start says what happens to the old session, expiry what happens to the new one.
    story = [
        (False, NEVER, False),  # none yet
        (False, NEVER, True),
        (True, NEVER, False),  # discarded, and a new one that stays
        (False, 0, True),  # resumed for the last time
        (False, 0, False),
    ]
    for clean, expiry, present in story:
        client = connect(harness, "c", clean=clean, expiry=expiry)
        assert connack_of(client).session_present is present
        harness.lose(client)
        harness.commit()


def test_a_session_that_was_resumed_without_expiry_ends_with_a_power_cut(
    harness: Harness,
) -> None:
    harness.lose(subscriber(harness, "c", "t", 1))
    connect(harness, "c", expiry=0)
    harness.cut()
    harness.advance(0)
    assert not is_there(harness)
    harness.checkpoint()
    assert harness.rows("subscriptions", "sessions") == {"subscriptions": 0, "sessions": 0}


def test_what_the_operator_allows_is_granted_and_said(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_session_expiry_seconds = 60
    limits.max_keep_alive_seconds = 100
    limits.max_awaiting_rel = 7
    limits.max_packet_size_bytes = 5_000
    limits.max_topic_alias = 3
    harness = Harness(tmp_path, limits)
    client = connect(harness, "c", keep_alive_seconds=600)
    assert granted(client) == properties(
        session_expiry_interval_seconds=60,
        receive_maximum=7,
        maximum_packet_size_bytes=5_000,
        topic_alias_maximum=3,
        server_keep_alive_seconds=100,
    )
    client.send(Disconnect(0, properties(session_expiry_interval_seconds=NEVER)))
    harness.commit()
    harness.advance(60)
    assert not is_there(harness)
    harness.close()


@pytest.mark.statement("MQTT5-3.2.2-22", "MQTT5-3.1.2-22")
def test_the_keep_alive_of_the_client_holds_where_the_server_names_none(harness: Harness) -> None:
    client = connect(harness, "c", keep_alive_seconds=10)
    assert granted(client).server_keep_alive_seconds is None
    harness.advance(14.9)
    assert not client.closed
    harness.advance(0.2)
    assert end_of(client) == 0x8D


def test_the_keep_alive_of_the_server_is_the_one_that_is_watched(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_keep_alive_seconds = 10
    harness = Harness(tmp_path, limits)
    for asked in (0, 20):
        client = connect(harness, f"c{asked}", keep_alive_seconds=asked)
        assert granted(client).server_keep_alive_seconds == 10
        harness.advance(15)
        assert end_of(client) == 0x8D
    harness.close()


@pytest.mark.statement("MQTT5-3.1.3-6", "MQTT5-3.1.3-7", "MQTT5-3.2.2-16")
def test_a_client_without_an_identifier_is_told_the_one_it_got_and_can_come_back(
    harness: Harness,
) -> None:
    first = connect(harness, "")
    name = granted(first).assigned_client_identifier
    other = granted(connect(harness, "")).assigned_client_identifier
    assert name
    assert name != other
    harness.lose(first)
    harness.cut()
    again = connack_of(connect(harness, name))
    assert again.session_present
    assert again.properties is not None
    assert again.properties.assigned_client_identifier is None


@pytest.mark.statement("MQTT5-3.1.3-8", "MQTT5-3.2.2-6", "MQTT5-3.2.2-7")
def test_a_client_identifier_that_is_too_long_is_refused(harness: Harness) -> None:
    client = connect(harness, "c" * 2_000)
    answer = connack_of(client)
    assert (answer.session_present, answer.reason_code) == (False, 0x85)
    assert client.closed


@pytest.mark.statement("MQTT5-3.1.0-2", "MQTT5-4.13.1-1", "MQTT5-3.14.4-1")
def test_a_second_connect_ends_the_connection(harness: Harness) -> None:
    client = connect(harness, "c")
    client.take()
    # The decoder refuses it, whatever the state.
    client.send(Connect(5, "c", False, 0, None, None, None))
    harness.commit()
    assert end_of(client) == 0x82


@pytest.mark.statement("MQTT5-3.1.4-3", "MQTT5-4.4.0-1", "MQTT5-3.3.1-1", "MQTT5-4.6.0-1")
def test_a_takeover_amid_a_delivery_loses_nothing_doubles_nothing_and_keeps_the_order(
    tmp_path: Path,
) -> None:
    limits = Limits()
    limits.max_inflight = 3
    harness = Harness(tmp_path, limits)
    client = subscriber(harness, "c", "t", 1)
    publisher = connect(harness, "p")
    for number in range(12):
        publish(harness, publisher, "t", b"%d" % number)
    seen: list[bytes] = []
    for _ in range(20):
        packets = publishes(client.take())
        for packet in packets[:2]:
            if not packet.dup or packet.payload not in seen:
                seen.append(packet.payload)
            client.send(Puback(packet.packet_id))
        if not packets:
            break
        taken = connect(harness, "c")
        assert end_of(client) == 0x8E
        client = taken
    assert seen == [b"%d" % number for number in range(12)]
    harness.close()


@pytest.mark.statement("MQTT5-4.3.2-3", "MQTT5-4.4.0-1")
def test_a_puback_in_the_last_bytes_before_the_cut_counts(harness: Harness) -> None:
    client = subscriber(harness, "c", "t", 1)
    publisher = connect(harness, "p")
    publish(harness, publisher, "t", b"1")
    publish(harness, publisher, "t", b"2")
    first, _ = publishes(client.take())
    client.send(Puback(first.packet_id))
    harness.lose(client)  # in the same turn of the loop
    again = connect(harness, "c")
    assert payloads(again.take()) == [b"2"]


def test_a_takeover_by_another_user_is_refused(harness: Harness) -> None:
    first = connect_as(harness, "alice")
    second = connect_as(harness, "bob")
    assert connack_of(second) == Connack(False, 0x87)
    assert second.closed
    assert not first.closed


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("clean", [False, True])
def test_a_session_whose_client_is_away_is_not_given_to_another_user(
    harness: Harness, clean: bool, cut: bool
) -> None:
    alice = connect_as(harness, "alice")
    subscribe(harness, alice, Subscription("t", 1))
    harness.lose(alice)
    publish(harness, connect(harness, "p"), "t", b"for alice alone")
    for _ in range(2):
        if cut:
            harness.cut()
        bob = connect_as(harness, "bob", clean=clean)
        assert bob.take() == [Connack(False, 0x87)]
        harness.checkpoint()
    assert payloads(connect_as(harness, "alice").take()) == [b"for alice alone"]


def test_a_session_from_before_there_were_users_goes_to_the_first_who_names_it(
    harness: Harness,
) -> None:
    harness.lose(connect(harness, "c"))
    alice = connect_as(harness, "alice")
    assert connack_of(alice).session_present
    harness.lose(alice)
    harness.cut()
    assert connack_of(connect_as(harness, "bob")) == Connack(False, 0x87)


def connect_as(harness: Harness, username: str, *, clean: bool = False) -> Client:
    """Connect the client `c` of a user, whose password is right."""
    harness.broker.rules.core.authenticates = True
    client = harness.open_connection(5)
    never = properties(session_expiry_interval_seconds=NEVER)
    client.send(Connect(5, "c", clean, 0, None, username, b"secret", never))
    for request in harness.broker.effects.take_logins():
        answer = AuthenticationAnswer(0, None, request.username)
        harness.broker.authenticated(request.connection, answer, harness.now)
    harness.commit()
    return client


@pytest.mark.statement("MQTT5-3.2.0-1", "MQTT5-3.2.0-2", "MQTT5-3.14.0-1")
def test_connack_comes_first_and_no_disconnect_before_it(harness: Harness) -> None:
    harness.lose(subscriber(harness, "c", "t", 1))
    publish(harness, connect(harness, "p"), "t", b"1")
    client = harness.open_connection(5)
    client.send(Connect(5, "c", False, 0, None, None, None), Publish("t", b"2", 0, False, False, 0))
    client.send(Connect(5, "c", False, 0, None, None, None))  # an error before the commit
    harness.flush()
    harness.commit()
    assert client.closed
    assert client.take() == []
    again = connect(harness, "c")
    packets = again.take()
    assert isinstance(packets[0], Connack)
    assert [packet for packet in packets[1:] if isinstance(packet, Connack)] == []


@pytest.mark.statement("MQTT5-3.1.4-6")
def test_what_follows_a_refused_connect_is_not_looked_at(harness: Harness) -> None:
    watch = subscriber(harness, "watch", "t", 0)
    client = harness.open_connection(5, anonymous=False)
    client.send(Connect(5, "c", False, 0, None, None, None), Publish("t", b"x", 0, False, False, 0))
    harness.commit()
    assert connack_of(client) == Connack(False, 0x87)
    assert payloads(watch.take()) == []


@pytest.mark.statement("MQTT5-3.1.2-28", "MQTT5-4.12.0-6", "MQTT5-3.2.2-8")
def test_connack_says_nothing_that_nobody_asked_for(harness: Harness) -> None:
    for asked in (None, False, True):
        client = connect(harness, "c", request_response_information=asked)
        answered = granted(client)
        assert answered.response_information is None
        assert answered.server_reference is None
        assert answered.authentication_method is None


def test_a_connack_that_the_client_could_not_take_ends_the_connection(harness: Harness) -> None:
    client = connect(harness, "c", maximum_packet_size_bytes=5)
    assert client.closed
    assert client.take() == []
    assert harness.broker.statistics.connections_open == 0


def test_a_broker_that_stops_says_so(harness: Harness) -> None:
    client = connect(harness, "c")
    harness.broker.lose(client.connection, CloseReason.SHUTDOWN, harness.now)
    harness.commit()
    assert end_of(client) == 0x8B


def test_a_session_moves_between_versions(harness: Harness) -> None:
    client = connect(harness, "c")
    subscribe(harness, client, Subscription("t", 1), identifier=9)
    harness.lose(client)
    publish(harness, connect(harness, "p"), "t", b"1", content_type="x")
    older = harness.connect("c", version=4)
    (packet,) = publishes(older.take())
    assert packet.properties is None
    harness.lose(older)
    (packet,) = publishes(connect(harness, "c").take())
    assert packet.properties == properties(content_type="x", subscription_identifiers=[9])


def test_an_expiry_timer_that_comes_up_to_the_instant_ends_the_session(harness: Harness) -> None:
    harness.now = 1006.6949614707229  # 20 later, rounding takes a little from the difference
    harness.lose(connect(harness, "c", expiry=20))
    harness.commit()
    while (due := harness.broker.next_due()) is not None and due < harness.now + 20:
        harness.broker.wake(due)
    assert due == harness.now + 20
    harness.broker.wake(due)
    harness.commit()
    assert not is_there(harness)
