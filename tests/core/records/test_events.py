"""A blob says what happened, for replay and for the session log alike; damage is noticed."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.records.blob import Blob, DamagedBlob
from gateway.core.records.events import Event, decode
from gateway.core.records.kinds import Observation
from gateway.wire.packets import (
    Publish,
    Pubrec,
    Pubrel,
    Subscribe,
    Subscription,
    Unsubscribe,
    Will,
)
from tests.core.harness import Harness


def events_of(harness: Harness) -> list[Event]:
    return [event for blob in harness.blobs for event in decode(blob).events]


def tell_a_story(harness: Harness) -> None:
    harness.lose(harness.subscriber("s", "sensors/+", 2))
    publisher = harness.connect("p", will=Will("w", b"", 1, True), keep_alive_seconds=30)
    publish = Publish("sensors/x", b"21.5", 2, True, False, 5)
    publisher.send(publish, publish, Pubrel(5))
    harness.commit()
    subscriber = harness.connect("s")
    subscriber.send(Pubrec(1), Unsubscribe(2, ["sensors/+"]))
    publisher.send_bytes(b"\xe0\x00")
    harness.broker.observe(None, Observation.SERIAL_PORT_LOST, "gps", "unplugged")
    harness.commit()


def test_the_events_of_a_qos_2_message_tell_its_way(harness: Harness) -> None:
    tell_a_story(harness)
    names = [event["event"] for event in events_of(harness)]
    assert names == [
        "broker_started",
        "session_opened",
        "subscribed",
        "session_closed",
        "session_opened",
        "will_set",
        "message_held",
        "duplicate_suppressed",
        "message_released",
        "retained_set",
        "message_queued",
        "session_resumed",
        "delivery_started",
        "delivery_received",
        "unsubscribed",
        "will_cleared",
        "session_closed",
        "serial_port_lost",
    ]


def test_events_carry_the_fields_of_the_contract(harness: Harness) -> None:
    tell_a_story(harness)
    events = {str(event["event"]): event for event in events_of(harness)}
    assert events["message_held"] == {
        "event": "message_held",
        "session": 2,
        "client_id": "p",
        "packet_id": 5,
        "message": 1,
        "topic": "sensors/x",
        "qos": 2,
        "retain": True,
        "payload": b"21.5",
    }
    assert events["message_released"]["matched"] == 1
    assert events["delivery_started"]["message"] == 1
    assert events["session_closed"]["reason"] == "disconnect"
    assert events["serial_port_lost"] == {
        "event": "serial_port_lost",
        "port": "gps",
        "detail": "unplugged",
    }


def test_sequence_numbers_have_no_gap_over_a_power_cut(harness: Harness) -> None:
    tell_a_story(harness)
    harness.cut()
    tell_a_story(harness)
    expected = 1
    for blob in harness.blobs:
        batch = decode(blob)
        assert batch.first_sequence == expected
        expected += len(batch.events)


def test_a_subscription_of_a_clean_session_is_no_fact(harness: Harness) -> None:
    client = harness.connect("c", clean=True)
    client.send(Subscribe(1, [Subscription("t", 1)]))
    harness.commit()
    assert "subscribed" not in [event["event"] for event in events_of(harness)]


def one_blob() -> bytes:
    with TemporaryDirectory() as folder:
        harness = Harness(Path(folder))
        tell_a_story(harness)
        harness.close()
        return max(harness.blobs, key=len)


BLOB = one_blob()


@given(position=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_a_flipped_bit_is_noticed(position: int, bit: int) -> None:
    damaged = bytearray(BLOB)
    damaged[position % len(BLOB)] ^= 1 << bit
    with pytest.raises(DamagedBlob):
        decode(bytes(damaged))


@given(st.integers(0, 10_000))
def test_a_cut_blob_is_noticed(length: int) -> None:
    with pytest.raises(DamagedBlob):
        Blob(BLOB[: length % len(BLOB)])
