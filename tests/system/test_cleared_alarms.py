"""The end of an alarm of a whole gateway. It takes more than a minute, so it is tested in turn."""

import json
import subprocess
import time

import pytest

from tests.peers.connection import DEADLINE_SECONDS
from tests.system.test_alarms import MISSING_PORT, TOPIC, published, subscriber
from tests.system.whole_gateway import WholeGateway


def retained(gateway: WholeGateway, topic: str) -> bool:
    """Return True if the broker retains a message on the topic."""
    outcome = subprocess.run(
        [*subscriber(gateway, topic), "-W", "1"],
        capture_output=True,
        check=False,
    )
    return outcome.stdout != b""


@pytest.mark.slow
def test_an_alarm_outlives_a_restart_and_clears_if_its_port_is_not_configured_any_more(
    gateway: WholeGateway,
) -> None:
    gateway.configure(MISSING_PORT)
    gateway.start()
    payload = published(gateway, TOPIC)
    assert gateway.stop() == 0

    gateway.configure("")
    gateway.start()
    deadline = time.monotonic() + DEADLINE_SECONDS + 60
    # An alarm clears after its condition has been absent for a minute.
    while any(
        each["id"] == "port_closed" for each in json.loads(gateway.get("/api/v1/alarms"))["alarms"]
    ):
        assert time.monotonic() < deadline
        time.sleep(1)
    cleared = json.loads(gateway.get("/api/v1/alarms?state=cleared"))["alarms"]
    assert [(each["id"], each["since_ms"]) for each in cleared] == [
        ("port_closed", payload["since_ms"])
    ]
    deadline = time.monotonic() + DEADLINE_SECONDS
    while retained(gateway, TOPIC):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert gateway.stop() == 0
