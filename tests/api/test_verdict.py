"""The verdict on a gateway."""

import time
from typing import Any

import pytest

from api.models.bridge import BridgeStatus
from api.models.broker import BrokerStatus
from api.models.reports import SerialReport, UplinkReport, UploadReport
from api.models.uplink import UplinkStatus
from api.models.uploader import UploaderStatus
from api.notice import Level
from api.observer import Overview
from api.verdict import verdict_of
from tests.api import recorded


class Gateway:
    """The recorded answers, to be bent before they are judged."""

    def __init__(self) -> None:
        self.broker = recorded.status()
        self.bridge: dict[str, Any] | None = recorded.bridge_status()
        self.bridge_age_seconds: float | None = 0.6
        self.uploader: dict[str, Any] | None = recorded.uploader_status()
        self.uplink: dict[str, Any] | None = None

    def sentences(self) -> list[tuple[Level, str]]:
        verdict = verdict_of(self.overview())
        return [
            (notice.level, notice.sentence.replace("\N{NO-BREAK SPACE}", " "))
            for notice in verdict.notices
        ]

    def overview(self) -> Overview:
        return Overview(
            broker=BrokerStatus.model_validate(self.broker),
            serial=SerialReport(
                time_ms=recorded.NOW_MS,
                age_seconds=self.bridge_age_seconds,
                problem=None,
                status=self.bridge and BridgeStatus.model_validate(self.bridge),  # type: ignore[arg-type]
            ),
            upload=UploadReport(
                time_ms=recorded.NOW_MS,
                age_seconds=0.9 if self.uploader else None,
                problem=None,
                status=self.uploader and UploaderStatus.model_validate(self.uploader),  # type: ignore[arg-type]
            ),
            uplink=UplinkReport(
                time_ms=recorded.NOW_MS,
                age_seconds=0.9 if self.uplink else None,
                problem=None,
                status=self.uplink and UplinkStatus.model_validate(self.uplink),  # type: ignore[arg-type]
            ),
            answered_at=time.monotonic(),
        )


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()


def test_a_healthy_gateway_is_well_without_a_notice(gateway: Gateway) -> None:
    verdict = verdict_of(gateway.overview())
    assert (verdict.level, verdict.headline, verdict.notices) == (Level.GOOD, "All is well", ())


def test_a_gateway_without_bridge_and_uploader_is_well_and_reports_it(gateway: Gateway) -> None:
    gateway.bridge = gateway.uploader = gateway.bridge_age_seconds = None
    assert verdict_of(gateway.overview()).level is Level.GOOD
    assert [level for level, _ in gateway.sentences()] == [Level.INFORMATION] * 2


@pytest.mark.parametrize("state", ["starting", "stopping", "anything"])
def test_a_broker_that_does_not_run_fully_needs_a_look(gateway: Gateway, state: str) -> None:
    gateway.broker["state"] = state
    assert gateway.sentences() == [(Level.ATTENTION, f"The broker is {state}.")]


def test_the_brokers_warnings_are_repeated_word_for_word(gateway: Gateway) -> None:
    gateway.broker["warnings"] = ["The disk is 95 % full: free some space."]
    assert gateway.sentences() == [(Level.ATTENTION, "The disk is 95 % full: free some space.")]


def test_a_salvaged_database_is_said_once(gateway: Gateway) -> None:
    gateway.broker["store"] = {"recovery": "salvaged", "detail": "12 rows of queue were lost"}
    assert "12 rows of queue were lost" in gateway.sentences()[0][1]
    gateway.broker["warnings"] = ["Damage at the start: 12 rows of queue were lost. Look at it."]
    assert len(gateway.sentences()) == 1


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
        "Uploading has failed for 5 min: 503 Slow Down. Nothing is lost: 3 segments waiting here, "
        "and tried again."
    )


def test_what_needs_a_look_is_counted_and_comes_first(gateway: Gateway) -> None:
    gateway.uploader = None
    gateway.broker["warnings"] = ["One.", "Two."]
    verdict = verdict_of(gateway.overview())
    assert verdict.headline == "Running, 2 warnings"
    assert [notice.level for notice in verdict.notices] == [
        Level.ATTENTION,
        Level.ATTENTION,
        Level.INFORMATION,
    ]


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


def test_the_page_s_own_certificate_needs_a_look_when_it_ends(gateway: Gateway) -> None:
    verdict = verdict_of(gateway.overview(), None, "server.pem: expires in 5 days: renew it")
    assert verdict.level is Level.ATTENTION
    sentence = "This page's certificate: server.pem: expires in 5 days: renew it."
    assert sentence in [notice.sentence for notice in verdict.notices]
