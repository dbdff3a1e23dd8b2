"""The broker's interface to the event loop: what each call does, and what it does not touch."""

from pathlib import Path

from gateway.broker.core.limits import Limits
from gateway.broker.core.records.blob import Blob
from gateway.broker.core.records.events import decode
from gateway.broker.core.records.kinds import CloseReason, Observation
from gateway.broker.wire.packets import (
    Pingreq,
    Publish,
    Subscribe,
    Subscription,
)
from tests.broker.core.harness import Harness, payloads
from tests.broker.core.mqtt5 import (
    connect,
)


def test_an_operator_ends_a_session_that_is_connected_and_one_that_is_away(
    harness: Harness,
) -> None:
    client = harness.subscriber("here", "t", 1)
    harness.lose(harness.subscriber("away", "t", 1))
    harness.commit()
    for name in ("here", "away"):
        harness.broker.drop_session(harness.session(name), harness.now)
    harness.commit()
    assert client.closed
    assert harness.broker.state.sessions == {}
    harness.cut()
    assert harness.broker.state.sessions == {}


def test_bytes_of_a_connection_that_is_closed_are_not_looked_at(harness: Harness) -> None:
    client = harness.connect("c")
    harness.lose(client)
    client.take()
    client.send(Publish("t", b"x", 1, True, False, 1), Pingreq())
    harness.commit()
    assert client.take() == []
    assert harness.broker.state.retained == {}


def test_a_connection_that_is_lost_twice_is_ended_once(harness: Harness) -> None:
    client = harness.connect("c")
    harness.lose(client)
    harness.broker.connection_lost(client.connection, CloseReason.KICKED, harness.now)
    harness.commit()
    names = [event["event"] for blob in harness.blobs for event in decode(blob).events]
    assert names.count("session_closed") == 1


def test_an_observation_is_written_and_changes_nothing(harness: Harness) -> None:
    harness.commit()
    before = harness.broker.state.changes.count()
    harness.broker.observe(None, Observation.SERIAL_PORT_LOST, "gps", "unplugged")
    harness.commit()
    (event,) = decode(harness.blobs[-1]).events
    assert (event["event"], event["detail"]) == ("serial_port_lost", "unplugged")
    assert harness.broker.state.changes.count() == before


def test_a_batch_is_newest_once_it_is_committed_and_not_when_it_is_sealed(
    harness: Harness,
) -> None:
    harness.connect("c")
    broker = harness.broker
    before = broker.committed_batch
    batch = broker.seal(harness.now, harness.time_ms, harness.clock)
    assert broker.committed_batch == before
    broker.committed(batch)
    assert broker.committed_batch == batch.number


def test_a_client_waits_for_a_commit_until_it_is_there(harness: Harness) -> None:
    client = harness.connect("c")
    assert not harness.broker.waits_for_commit()
    client.send(Subscribe(1, [Subscription("t", 1)]))
    assert harness.broker.waits_for_commit()
    harness.commit()
    assert not harness.broker.waits_for_commit()


def test_the_next_timer_is_the_first_that_is_due(harness: Harness) -> None:
    harness.connect("slow", clean=True, keep_alive_seconds=100)
    harness.connect("quick", clean=True, keep_alive_seconds=10)
    due = harness.broker.next_due()
    assert due is not None
    assert due <= harness.now + 15
    harness.advance(15)
    assert "quick" not in harness.broker.state.sessions
    assert "slow" in harness.broker.state.sessions


def test_the_start_and_the_stop_of_a_broker_are_in_the_journal(harness: Harness) -> None:
    harness.commit()
    harness.broker.stop(harness.now)
    harness.commit()
    first, last = Blob(harness.blobs[0]), Blob(harness.blobs[-1])
    assert first.first_sequence == 1
    assert decode(harness.blobs[0]).events[0]["event"] == "broker_started"
    assert decode(harness.blobs[-1]).events[-1]["event"] == "broker_stopped"
    assert last.last_sequence == harness.broker.batch.next_sequence - 1


def test_a_client_whose_socket_has_room_again_gets_what_waited(harness: Harness) -> None:
    client = harness.subscriber("c", "t", 1)
    harness.broker.set_writable(client.connection, False, harness.now)
    harness.connect("p", clean=True).send(Publish("t", b"x", 1, False, False, 1))
    harness.commit()
    assert payloads(client.take()) == []
    harness.broker.set_writable(client.connection, True, harness.now)
    harness.commit()
    assert payloads(client.take()) == [b"x"]


def test_a_shorter_max_session_expiry_counts_for_sessions_that_wait_already(
    tmp_path: Path,
) -> None:
    limits = Limits()
    harness = Harness(tmp_path, limits)
    harness.lose(connect(harness, "c"))
    harness.advance(10)
    limits.max_session_expiry_seconds = 60.0
    harness.broker.limits_changed(harness.now)
    harness.advance(49)
    assert "c" in harness.broker.state.sessions
    harness.advance(1)
    assert "c" not in harness.broker.state.sessions
    harness.close()
