"""Timers that are due: silent clients, slow readers, and sessions whose clients left."""

from pathlib import Path

import pytest

from gateway.broker.core.effects import AuthenticationAnswer
from gateway.broker.core.limits import KEEP_ALIVE_PART_BYTES, SLOW_READER_SECONDS, Limits
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Connack, Connect, Pingreq, Publish
from tests.broker.core.harness import Harness
from tests.broker.core.mqtt5 import (
    connect,
    end_of,
    granted,
)


@pytest.mark.statement("MQTT-3.1.2-24")
def test_an_older_client_is_closed_without_a_word(harness: Harness) -> None:
    client = harness.connect("c", keep_alive_seconds=10)
    client.take()
    harness.advance(15)
    assert client.closed
    assert client.take() == []


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


@pytest.mark.parametrize(("version", "code"), [(4, 3), (5, 0x89)])
def test_a_client_whose_login_is_not_checked_in_time_is_answered_that_it_may_try_again(
    harness: Harness, version: int, code: int
) -> None:
    harness.broker.core.authenticates = True
    client = harness.open_connection(version)
    client.send(Connect(version, "c", True, 0, None, "user", b"password"))
    harness.advance(harness.broker.limits.connect_timeout_seconds + 0.1)
    assert client.take() == [Connack(False, code)]
    assert client.closed
    assert harness.broker.statistics.errors == {"connect_timeout": 1}
    late = AuthenticationAnswer(0, None, "user")
    harness.broker.authenticated(client.connection, late, harness.now)
    harness.commit()
    assert client.take() == []
    assert not harness.broker.state.sessions


def test_a_client_that_falls_silent_while_its_password_is_checked_is_still_watched(
    harness: Harness,
) -> None:
    harness.broker.core.authenticates = True
    client = harness.open_connection()
    client.send(Connect(4, "c", False, 1, None, "user", b"password"))
    harness.now += 5  # the password waits in a queue of checks
    harness.broker.authenticated(client.connection, AuthenticationAnswer(0, None, "u"), harness.now)
    harness.commit()
    assert not client.closed
    harness.advance(1.6)
    assert client.closed


@pytest.mark.statement("MQTT-3.1.2-24", "MQTT5-3.1.2-22")
@pytest.mark.parametrize("version", [4, 5])
def test_bytes_that_complete_no_packet_are_no_sign_of_life(harness: Harness, version: int) -> None:
    client = harness.connect("c", version=version, keep_alive_seconds=10)
    packet = encode(Publish("t", b"x" * 100, 0, False, False, 0), version)
    for second in range(15):
        assert not client.closed
        client.send_bytes(packet[second : second + 1])
        harness.advance(1)
    assert client.closed
    assert harness.broker.statistics.errors == {"keep_alive": 1}


def test_a_large_packet_that_goes_on_coming_outlasts_the_keep_alive(harness: Harness) -> None:
    client = harness.connect("c", keep_alive_seconds=10)
    packet = encode(Publish("t", b"x" * 8 * KEEP_ALIVE_PART_BYTES, 0, False, False, 0), 4)
    per_second = KEEP_ALIVE_PART_BYTES // 10
    for start in range(0, len(packet) - 1, per_second):
        client.send_bytes(packet[start : min(start + per_second, len(packet) - 1)])
        harness.advance(1)
        assert not client.closed
    client.send_bytes(packet[-1:])
    harness.advance(14)
    assert not client.closed
    harness.advance(2)
    assert client.closed


def test_a_packet_of_which_too_little_comes_does_not_outlast_the_keep_alive(
    harness: Harness,
) -> None:
    client = harness.connect("c", keep_alive_seconds=10)
    packet = encode(Publish("t", b"x" * 8 * KEEP_ALIVE_PART_BYTES, 0, False, False, 0), 4)
    client.send_bytes(packet[: 2 * KEEP_ALIVE_PART_BYTES])
    harness.advance(15)
    assert not client.closed  # a sufficient part of the packet arrived
    client.send_bytes(packet[2 * KEEP_ALIVE_PART_BYTES : 3 * KEEP_ALIVE_PART_BYTES - 1])
    harness.advance(15)
    assert client.closed


def test_each_large_packet_is_counted_for_itself(harness: Harness) -> None:
    client = harness.connect("c", keep_alive_seconds=10)
    large = encode(Publish("t", b"x" * 8 * KEEP_ALIVE_PART_BYTES, 0, False, False, 0), 4)
    client.send_bytes(large[: 4 * KEEP_ALIVE_PART_BYTES])
    harness.advance(15)
    client.send_bytes(large[4 * KEEP_ALIVE_PART_BYTES :] + encode(Pingreq(), 4))
    harness.advance(1)
    client.send_bytes(large[: 2 * KEEP_ALIVE_PART_BYTES])
    harness.advance(15)
    assert not client.closed
    harness.advance(15)
    client.send_bytes(large[2 * KEEP_ALIVE_PART_BYTES : 2 * KEEP_ALIVE_PART_BYTES + 10])
    harness.advance(15)
    assert client.closed


def test_the_silence_of_a_client_that_is_not_being_read_from_does_not_count(
    harness: Harness,
) -> None:
    client = harness.connect("c", keep_alive_seconds=10)
    harness.broker.set_reading(client.connection, False, harness.now)
    harness.advance(14)
    harness.advance(14)
    assert not client.closed
    harness.broker.set_reading(client.connection, True, harness.now)
    harness.advance(14)
    assert not client.closed
    harness.advance(2)
    assert client.closed


def test_a_client_that_has_stopped_reading_is_closed_in_the_end(harness: Harness) -> None:
    client = harness.connect("c")
    for _ in range(3):
        harness.broker.set_writable(client.connection, False, harness.now)
        harness.advance(SLOW_READER_SECONDS - 1)
        harness.broker.set_writable(client.connection, True, harness.now)
    assert len(harness.broker.timers.heap) <= 2
    assert not client.closed
    harness.broker.set_writable(client.connection, False, harness.now)
    harness.advance(SLOW_READER_SECONDS - 1)
    assert not client.closed
    harness.advance(1)
    assert client.closed
    assert harness.broker.statistics.errors == {"slow_reader": 1}


def test_a_clock_that_jumps_by_years_ends_no_session(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_session_expiry_seconds = 3_600.0
    harness = Harness(tmp_path, limits)
    harness.lose(harness.connect("c"))
    harness.time_ms += 50 * 365 * 86_400_000  # the wall clock was set by a time server
    harness.advance(1_800)
    assert "c" in harness.broker.state.sessions
    harness.advance(1_801)
    assert "c" not in harness.broker.state.sessions
    harness.close()
