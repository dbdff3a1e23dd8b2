"""The maximum number of sessions: per user, without a user, and unused sessions that make room."""

import pytest

from gateway.broker.core.quota import LOCAL_PROGRAMS
from gateway.broker.wire.packets import Connack, Connect, Subscription
from tests.broker.core.harness import Harness
from tests.broker.core.mqtt5 import (
    NEVER,
    connack_of,
    connect,
    end_of,
    granted,
    is_there,
    properties,
    publish,
    subscribe,
)
from tests.broker.core.owned import check_owners, limit, log_in


def use(harness: Harness, username: str, client_id: str) -> None:
    """Leave a used session: it has a subscription, and its client is away."""
    client = log_in(harness, username, client_id)
    subscribe(harness, client, Subscription(f"of/{client_id}", 1))
    harness.lose(client)


def test_a_user_has_no_more_sessions_than_its_quota_and_the_others_are_not_concerned(
    harness: Harness,
) -> None:
    limit(harness, "ann", sessions=2)
    use(harness, "ann", "a1")
    use(harness, "ann", "a2")
    third = log_in(harness, "ann", "a3")
    assert third.take() == [Connack(False, 0x97)]
    assert third.closed
    assert harness.broker.statistics.errors["user_sessions"] == 1
    assert connack_of(log_in(harness, "ann", "a1")).session_present
    assert connack_of(log_in(harness, "ben", "b1")).reason_code == 0
    check_owners(harness.broker.state)


def test_before_5_0_the_answer_is_that_the_server_is_unavailable(harness: Harness) -> None:
    limit(harness, "ann", sessions=1)
    use(harness, "ann", "a1")
    assert log_in(harness, "ann", "a2", version=4).take() == [Connack(False, 3)]


def test_clients_without_a_user_cannot_use_up_the_sessions(harness: Harness) -> None:
    harness.limits.max_sessions = 4
    limit(harness, "", sessions=2)
    for number in range(5):
        client = log_in(harness, "", f"nobody{number}")
        if number < 2:
            subscribe(harness, client, Subscription("t", 1))
    assert harness.broker.statistics.errors["anonymous_sessions"] == 3
    assert connack_of(log_in(harness, "ann", "a1")).reason_code == 0
    assert connack_of(log_in(harness, "ann", "a2")).reason_code == 0
    assert connack_of(log_in(harness, "ann", "a3")).reason_code == 0x88


def test_of_sessions_in_which_nothing_is_the_one_that_left_first_makes_room(
    harness: Harness,
) -> None:
    limit(harness, "", sessions=3)
    use(harness, "", "used")
    for name in ("first", "second"):
        harness.lose(log_in(harness, "", name))
    harness.lose(log_in(harness, "", "first"))  # back for a while: now this session left second
    assert connack_of(log_in(harness, "", "new")).reason_code == 0
    assert [name for name in ("used", "first", "second") if is_there(harness, name)] == [
        "used",
        "first",
    ]
    assert harness.broker.statistics.errors == {"unused_sessions_given_back": 1}
    check_owners(harness.broker.state)


def test_a_known_user_gets_the_place_of_an_unused_session_without_a_user(harness: Harness) -> None:
    harness.limits.max_sessions = 2
    harness.lose(log_in(harness, "ann", "own"))
    harness.lose(log_in(harness, "", "nobody"))
    assert connack_of(log_in(harness, "ben", "b")).reason_code == 0
    assert is_there(harness, "own")
    assert not is_there(harness, "nobody")
    # An unused session of another user never makes room.
    assert connack_of(log_in(harness, "ben", "b2")).reason_code == 0x88
    assert is_there(harness, "own")


@pytest.mark.parametrize("use_it", ["publish", "subscribe", "restart"])
def test_a_session_that_was_used_is_not_given_back(harness: Harness, use_it: str) -> None:
    limit(harness, "", sessions=1)
    client = connect(harness, "c")
    if use_it == "publish":
        publish(harness, client, "t", b"x")
    elif use_it == "subscribe":
        subscribe(harness, client, Subscription("t", 0))
    harness.lose(client)
    harness.commit()
    if use_it == "restart":
        harness.cut()
    assert connack_of(connect(harness, "d")).reason_code == 0x97
    assert is_there(harness, "c")


def test_a_full_table_of_empty_sessions_gives_the_oldest_way_after_a_restart(
    harness: Harness,
) -> None:
    harness.limits.max_sessions = 4
    use(harness, "", "subscribed")
    for name in ("oldest", "older", "newest"):
        client = log_in(harness, "", name)
        publish(harness, client, "t", b"x")  # so that the session is not unused
        harness.advance(1)
        harness.lose(client)
        harness.commit()
    assert log_in(harness, "", "refused").closed, "what they have done is known"
    harness.restart()
    assert log_in(harness, "", "refused").closed, "a persistent one takes no place of another"
    for name in ("a", "b"):
        assert connack_of(harness.connect(name, clean=True, version=5)).reason_code == 0
    assert set(harness.broker.state.sessions) == {"subscribed", "newest", "a", "b"}
    assert harness.broker.statistics.errors["unused_sessions_given_back"] == 2
    assert connack_of(harness.connect("newest", version=5)).session_present
    assert log_in(harness, "", "c").closed, "one that is connected does not give way"
    check_owners(harness.broker.state)


def test_connected_clients_of_a_user_are_bounded_and_a_takeover_needs_no_place(
    harness: Harness,
) -> None:
    limit(harness, "ann", connections=1)
    first = log_in(harness, "ann", "a")
    assert connack_of(log_in(harness, "ann", "b")).reason_code == 0x97
    second = log_in(harness, "ann", "a")
    assert connack_of(second).session_present
    assert end_of(first) == 0x8E
    harness.lose(second)
    assert connack_of(log_in(harness, "ann", "b")).reason_code == 0
    check_owners(harness.broker.state)


def test_a_session_expires_with_the_quota_of_its_user_and_the_client_learns_it(
    harness: Harness,
) -> None:
    limit(harness, "", session_expiry_seconds=60.0)
    client = log_in(harness, "", "nobody")
    assert granted(client).session_expiry_interval_seconds == 60
    kept = log_in(harness, "ann", "a")
    harness.lose(client)
    harness.lose(kept)
    harness.advance(61)
    assert not is_there(harness, "nobody")
    assert is_there(harness, "a")


def test_a_session_that_waits_already_expires_with_a_quota_that_is_read_again(
    harness: Harness,
) -> None:
    harness.lose(log_in(harness, "", "nobody"))
    harness.advance(100)
    limit(harness, "", session_expiry_seconds=60.0)
    harness.advance(1)
    assert not is_there(harness, "nobody")


def test_programs_on_this_machine_are_no_strangers_also_after_a_restart(harness: Harness) -> None:
    limit(harness, "", sessions=0, connections=0)
    for _ in range(2):
        bridge = harness.open_connection(5)
        bridge.connection.is_local = True
        bridge.send(Connect(5, "bridge", False, 0, None, None, None, properties(**EVER)))
        harness.commit()
        assert connack_of(bridge).reason_code == 0
        owner = harness.session("bridge").owner
        assert owner is not None
        assert (owner.username, owner.connections) == (LOCAL_PROGRAMS, 1)
        check_owners(harness.broker.state)
        harness.cut()
        limit(harness, "", sessions=0, connections=0)
    assert connack_of(connect(harness, "stranger")).reason_code == 0x97


EVER = {"session_expiry_interval_seconds": NEVER}
