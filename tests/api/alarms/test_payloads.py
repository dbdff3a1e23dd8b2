"""Payloads in which the bridge publishes alarms."""

import json
from dataclasses import replace

from api.alarms.alarm import Alarm
from api.alarms.conditions.condition import Level
from api.alarms.kinds import KINDS
from api.alarms.payloads import SUBJECTS_MAX, payloads_of
from gateway.broker.server.control.alarms import ALARMS_BYTES_MAX

LOST = Alarm(
    id="port_lost", subject="port gps", level=Level.ATTENTION, sentence="It is lost.",
    fix="Check the plug.", since_ms=5, changed_ms=5,
)  # fmt: skip


def test_each_kind_has_a_payload_or_nothing() -> None:
    payloads = payloads_of([LOST], ["disk_full", "port_lost"])
    assert payloads["disk_full"] is None
    assert payloads["port_lost"] == {
        "id": "port_lost",
        "level": "warning",
        "since_ms": 5,
        "count": 1,
        "alarms": [
            {
                "subject": "port gps",
                "level": "warning",
                "since_ms": 5,
                "ended_ms": None,
                "sentence": "It is lost.",
                "fix": "Check the plug.",
                "acknowledged_by": None,
            }
        ],
    }


def test_alarms_of_one_kind_are_bounded_and_all_counted() -> None:
    many = [replace(LOST, subject=str(number), since_ms=100 - number) for number in range(20)]
    payload = payloads_of(many, [])["port_lost"]
    assert isinstance(payload, dict)
    assert payload["count"] == 20
    assert payload["since_ms"] == 81
    assert [each["subject"] for each in payload["alarms"]] == [
        str(n) for n in range(SUBJECTS_MAX[0])
    ]


def test_alarms_of_every_kind_fit_into_a_request() -> None:
    longest = replace(LOST, sentence="W" * 999, fix="W" * 999)
    many = [replace(longest, id=kind, subject=str(n)) for kind in KINDS for n in range(9)]
    payloads = payloads_of(many, KINDS)
    assert len(json.dumps(payloads)) < ALARMS_BYTES_MAX
    assert all(isinstance(each, dict) and each["count"] == 9 for each in payloads.values())
