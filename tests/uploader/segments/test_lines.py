from __future__ import annotations

import base64
import hashlib
import json

import pytest

from gateway.uploader.segments.lines import LineEncoder, Value
from gateway.uploader.settings import LINE_BYTES_MAX


def record_of(
    payload: bytes,
    *,
    topic: str = "sensors/a/temperature",
    topics: tuple[str, ...] = ("sensors/#",),
) -> dict[str, object]:
    event: dict[str, Value] = {"event": "message_held", "topic": topic, "payload": payload}
    line = LineEncoder(topics, LINE_BYTES_MAX).line_of(12, 1_760_000_000_123, event)
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    assert event["payload"] == payload, "the caller's event is left as it was"
    return dict(json.loads(line))


def test_a_line_begins_with_sequence_time_and_event() -> None:
    encoder = LineEncoder((), LINE_BYTES_MAX)
    line = encoder.line_of(4021, 1_760_000_000_000, {"event": "broker_stopped"})
    assert line == b'{"sequence":4021,"time":1760000000000,"event":"broker_stopped"}\n'


def test_a_payload_of_a_named_topic_is_in_the_log_as_text() -> None:
    record = record_of("21.5 °C \n\u2028 \x00".encode())
    assert record["payload"] == "21.5 °C \n\u2028 \x00"
    assert record["payload_bytes"] == 15
    assert "payload_base64" not in record
    assert "payload_sha256" not in record


def test_a_payload_of_a_named_topic_that_is_not_utf_8_is_there_in_base64() -> None:
    record = record_of(b"\xff\xfe\x00")
    assert record["payload_base64"] == base64.b64encode(b"\xff\xfe\x00").decode()
    assert record["payload_bytes"] == 3
    assert "payload" not in record


def test_a_surrogate_in_a_payload_is_not_utf_8() -> None:
    assert "payload_base64" in record_of(b"\xed\xa0\x80")


def test_a_payload_of_another_topic_is_given_by_its_hash() -> None:
    record = record_of(b"secret", topic="private/a")
    assert record["payload_sha256"] == hashlib.sha256(b"secret").hexdigest()
    assert record["payload_bytes"] == 6
    assert "payload" not in record
    assert "payload_base64" not in record


def test_an_empty_payload_is_text() -> None:
    assert record_of(b"")["payload"] == ""


@pytest.mark.parametrize(
    ("pattern", "topic", "is_kept"),
    [
        ("#", "a/b", True),
        ("#", "$SYS/broker/uptime", False),
        ("sensors/+/temperature", "sensors/a/temperature", True),
        ("sensors/+/temperature", "sensors/a/b/temperature", False),
        ("sensors/#", "sensors", True),
    ],
)
def test_payload_topics_are_mqtt_topic_filters(pattern: str, topic: str, is_kept: bool) -> None:
    assert ("payload" in record_of(b"x", topic=topic, topics=(pattern,))) is is_kept


def test_a_payload_whose_escapes_would_make_the_line_too_long_is_given_in_base64() -> None:
    record = record_of(b"\x01" * (LINE_BYTES_MAX // 2))
    assert len(base64.b64decode(str(record["payload_base64"]))) == LINE_BYTES_MAX // 2


def test_a_payload_that_fits_into_no_line_is_given_by_its_hash() -> None:
    payload = b"x" * LINE_BYTES_MAX
    record = record_of(payload)
    assert record["payload_sha256"] == hashlib.sha256(payload).hexdigest()
    assert record["payload_bytes"] == LINE_BYTES_MAX


def test_the_longest_names_that_mqtt_allows_fit_into_a_line() -> None:
    longest = "\x01" * 65_535
    event: dict[str, Value] = {"event": "message_held", "client_id": longest, "topic": longest}
    line = LineEncoder((longest,), LINE_BYTES_MAX).line_of(
        1, 1, {**event, "payload": b"x" * 500_000}
    )
    assert "payload_sha256" in json.loads(line)
    assert json.loads(line)["topic"] == longest
