"""Keep-alive: which clients are closed as silent, and which bytes count as a sign of life."""

from pathlib import Path

import pytest

from gateway.broker.core.limits import KEEP_ALIVE_PART_BYTES, Limits
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Pingreq, Publish
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
