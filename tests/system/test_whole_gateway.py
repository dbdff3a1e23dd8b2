"""A new user's first minutes: one command, readings, the page, a second start, the tables."""

import subprocess
import time
from collections import Counter

import pytest

from gateway.broker.core.gateway_time import ClockQuality
from gateway.broker.server.host import clock
from tests.peers.connection import DEADLINE_SECONDS
from tests.system.published_ledger import begin_ledger, readings_of_ledger
from tests.system.whole_gateway import WholeGateway

SECONDS_TO_FIRST_READING = 5.0


def _first_readings(gateway: WholeGateway, count: int) -> list[str]:
    where = ["-p", str(gateway.broker_port), "-t", "sensors/#", "-v"]
    outcome = subprocess.run(
        ["mosquitto_sub", *where, "-C", str(count), "-W", str(int(DEADLINE_SECONDS))],
        capture_output=True,
        timeout=2 * DEADLINE_SECONDS,
        check=True,
    )
    return outcome.stdout.decode().splitlines()


def _page_with(gateway: WholeGateway, *wanted: str) -> str:
    deadline = time.monotonic() + DEADLINE_SECONDS
    paths = ("/", "/clients")
    while not all(word in (page := "".join(map(gateway.get, paths))) for word in wanted):
        assert time.monotonic() < deadline, (
            f"the page does not show all of {wanted}; alarms: {gateway.get('/api/v1/alarms')}"
        )
        time.sleep(0.1)
    return page


@pytest.mark.slow
@pytest.mark.quiet
def test_the_first_readings_come_within_seconds(gateway: WholeGateway) -> None:
    for _ in range(2):
        gateway.start()
        began = time.monotonic()
        _first_readings(gateway, 3)
        assert time.monotonic() - began < SECONDS_TO_FIRST_READING
        assert gateway.stop() == 0


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_one_command_shows_readings_stops_resumes_and_its_tables_hold_what_was_published(
    gateway: WholeGateway,
) -> None:
    await begin_ledger(gateway.data_directory)
    # The disk of the machine that runs the tests may be nearly full.
    gateway.configure("[alarms]\ndisk_free = 0\n")
    for _ in range(2):
        gateway.start()
        printed = _first_readings(gateway, 3)
        assert [line.split("/")[0] for line in printed] == ["sensors"] * 3
        # On a machine without NTP the page has one warning, about the clock.
        verdict = "1 warning" if clock.quality() == ClockQuality.UNSYNCHRONISED else "All is well"
        _page_with(gateway, "board-0000002a", "temperature", "oncegate-bridge", verdict)
        assert gateway.stop() == 0
        assert gateway.process_ids() == []
        assert "Traceback" not in gateway.output()
    rows = gateway.ingest()
    readings = await readings_of_ledger(gateway.data_directory)
    identities = [reading.identity for reading in readings]
    assert len(set(identities)) == len(identities)
    assert rows["sensor_readings"] == sum(len(reading.records) for reading in readings)
    assert rows["quarantine"] == 0
    # The simulated board numbers its starts and its frames, so a missing frame would leave a gap.
    for boot in (1, 2):
        sequences = Counter(identity[2] for identity in identities if identity[1] == boot)
        assert sorted(sequences) == list(range(1, len(sequences) + 1))
        assert set(sequences.values()) == {3}
