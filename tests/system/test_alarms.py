"""Alarms of a whole gateway, as seen by a subscriber, by a REST client and by Prometheus."""

import json
import re
import subprocess
import time
from typing import Any

import pytest

from tests.peers.connection import DEADLINE_SECONDS
from tests.system.whole_gateway import WholeGateway

MISSING_PORT = """
[[serial]]
name = "meter"
path = "/dev/serial/by-id/usb-that-is-not-plugged-in"
framing = "json"
"""
TOPIC = "alarms/port_closed"


def subscriber(gateway: WholeGateway, topic: str) -> list[str]:
    """Return the command that prints one message from a topic."""
    return ["mosquitto_sub", "-p", str(gateway.broker_port), "-t", topic, "-C", "1"]


def published(gateway: WholeGateway, topic: str) -> Any:
    """Return the next payload on a topic, also a retained one. Empty payloads are skipped."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        outcome = subprocess.run(
            [*subscriber(gateway, topic), "-W", str(int(DEADLINE_SECONDS))],
            capture_output=True,
            timeout=2 * DEADLINE_SECONDS,
            check=True,
        )
        if outcome.stdout.strip():
            return json.loads(outcome.stdout)
        assert time.monotonic() < deadline


@pytest.mark.slow
def test_a_port_that_cannot_be_opened_is_an_alarm_everywhere(gateway: WholeGateway) -> None:
    gateway.configure(MISSING_PORT)
    gateway.start()
    payload = published(gateway, TOPIC)
    assert (payload["id"], payload["level"], payload["count"]) == ("port_closed", "warning", 1)
    [entry] = payload["alarms"]
    assert entry["subject"] == "port meter"
    assert "Check plug and path" in entry["fix"]
    alarms = json.loads(gateway.get("/api/v1/alarms"))["alarms"]
    assert [each["since_ms"] for each in alarms if each["id"] == "port_closed"] == [
        payload["since_ms"]
    ]
    assert "Serial port cannot be opened" in gateway.get("/alarms")
    assert re.search(
        r'^oncegate_alarm\{id="port_closed",level="warning"\} 1', gateway.get("/metrics"), re.M
    )
    assert gateway.stop() == 0
