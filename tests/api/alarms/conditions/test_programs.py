"""Alarm conditions of bridge, uploader and uplink."""

from api.alarms.conditions.condition import Level
from tests.api import recorded
from tests.api.alarms.gateway import Gateway


def test_a_bridge_without_its_broker_states_how_much_waits(gateway: Gateway) -> None:
    assert gateway.bridge is not None
    gateway.bridge["mqtt"]["connected"] = False
    gateway.bridge["outbox"]["waiting"] = 1_234
    assert "1,234 readings waiting" in gateway.sentences()[0][1]


def test_a_bridge_that_the_broker_refuses_has_the_reason(gateway: Gateway) -> None:
    assert gateway.bridge is not None
    gateway.bridge["mqtt"].update(
        connected=False, fault="code 5 (Connection Refused: not authorised); check bans"
    )
    [(_, sentence)] = gateway.sentences()
    assert sentence == (
        "The bridge is not connected to the broker at 127.0.0.1:1883: code 5 (Connection Refused: "
        "not authorised); check bans; 0 readings waiting in its outbox."
    )


def test_a_silent_bridge_is_said_once_and_its_old_words_are_not_judged(gateway: Gateway) -> None:
    assert gateway.bridge is not None
    gateway.bridge["mqtt"]["connected"] = False
    gateway.bridge_age_seconds = 40.0
    assert len(gateway.sentences()) == 1
    assert "silent for 40 s" in gateway.sentences()[0][1]


def test_a_failing_upload_states_since_when_why_and_that_nothing_is_lost(gateway: Gateway) -> None:
    assert gateway.uploader is not None
    gateway.uploader.update(
        error="503 Slow Down.",
        failing_since_ms=recorded.NOW_MS - 300_000,
        sealed={"count": 3, "bytes": 40_000},
    )
    [(level, sentence)] = gateway.sentences()
    assert level is Level.ATTENTION
    assert sentence == (
        "Uploading has failed for 5 min: 503 Slow Down. Nothing is lost: the upload is "
        "tried again (3 segments waiting)."
    )


def test_an_uplink_that_works_needs_no_look(gateway: Gateway) -> None:
    gateway.uplink = recorded.uplink_status()
    assert gateway.sentences() == []


def test_an_uplink_without_its_broker_states_what_waits_and_why(gateway: Gateway) -> None:
    gateway.uplink = recorded.uplink_status()
    gateway.uplink["remote"] |= {"connected": False, "fault": "no answer within 15 s"}
    gateway.uplink["in"]["too_large"] = 2
    (_, lost), (_, dropped) = gateway.sentences()
    assert lost == (
        "The uplink is not connected to the upstream broker at up.example:8883: no answer within "
        "15 s; 3 messages waiting for it."
    )
    assert "0 refused, 2 too large" in dropped


def test_segments_that_wait_beyond_the_limit_are_a_backlog(gateway: Gateway) -> None:
    assert gateway.uploader is not None
    gateway.uploader["sealed"] = {"count": 3, "bytes": 4_000_000}
    assert gateway.conditions() == ()
    [condition] = gateway.conditions(upload_backlog_bytes=3_999_999)
    assert (condition.id, condition.level) == ("upload_backlog", Level.ATTENTION)
    assert condition.sentence.startswith("3 segments (3.8\N{NO-BREAK SPACE}MiB)")
