"""A day of readings through Telegraf, counted, while either end is restarted and killed."""

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.firmware.bridge_process import BridgeProcess
from tests.bridge.terminal import Terminal
from tests.real_programs.telegraf import CONNECT_SECONDS, REFUSED, Telegraf
from tests.system.broker_process import BrokerProcess

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

READINGS_OF_A_DAY = 8640
"""One each 10 s."""
LINE_SECONDS = 0.004
IN_FLIGHT_MAX = 32
"""The broker's `max_inflight`: more is never received and unacknowledged."""


class Chain:
    """Sensor, bridge, broker and Telegraf, and what may happen to the last two."""

    def __init__(self, directory: Path, qos: int) -> None:
        self.broker = BrokerProcess()
        self.terminal = Terminal(directory / "line")
        port = f'[[serial]]\nname = "counter"\npath = "{self.terminal.link}"\nframing = "json"\n'
        (directory / "gateway").mkdir()
        self.bridge = BridgeProcess(directory / "gateway", self.broker.port, port)
        self.telegraf = Telegraf(directory / "telegraf", self.broker.port, qos)

    def start(self) -> None:
        self.broker.start()
        self.telegraf.start()
        self.bridge.start()
        while "serial port counter: open" not in self.bridge.log():
            assert self.bridge.is_running, self.bridge.log()
            time.sleep(0.05)

    def end(self) -> None:
        self.telegraf.stop()
        self.bridge.kill()
        self.broker.remove()
        self.terminal.unplug()

    def nothing(self) -> None:
        """Cause no interruption."""

    def restart_broker(self) -> None:
        self._restart_between_attempts("terminated")

    def kill_broker(self) -> None:
        self._restart_between_attempts("killed")

    def _restart_between_attempts(self, how: str) -> None:
        """Restart the broker while Telegraf does not try to connect.

        Of this version an attempt must not be refused: docs/telegraf.md.
        """
        while not 0.1 < time.time() % CONNECT_SECONDS < 0.2:
            time.sleep(0.02)
        refused = self.telegraf.output().count(REFUSED)
        self.broker.restart(how)
        if self.telegraf.output().count(REFUSED) > refused:
            self.restart_telegraf()

    def keep_broker_away(self) -> None:
        """Kill the broker, start it after a refused attempt, and restart Telegraf."""
        refused = self.telegraf.output().count(REFUSED)
        self.broker.kill()
        self.telegraf.wait_for_output(REFUSED, refused + 1)
        self.broker.start()
        self.restart_telegraf()

    def restart_telegraf(self) -> None:
        self.telegraf.stop()
        self.telegraf.start()

    def kill_telegraf(self) -> None:
        self.telegraf.stop(signal.SIGKILL)
        self.telegraf.start()


@pytest.fixture(params=[2, 1])
def chain(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Chain]:
    chain = Chain(tmp_path, request.param)
    try:
        chain.start()
        yield chain
    finally:
        chain.end()


def write_readings(terminal: Terminal, numbers: range) -> None:
    for number in numbers:
        terminal.send(b'{"n":%d}\n' % number)
        time.sleep(LINE_SECONDS)


def repeated(readings: list[dict[str, Any]]) -> int:
    """Return how many readings were written more than once."""
    return sum(count > 1 for count in Counter(each["fields"]["v"] for each in readings).values())


def test_telegraf_loses_no_reading_of_a_day_and_repeats_what_was_in_flight(chain: Chain) -> None:
    events: list[Callable[[], None]] = [
        chain.nothing,
        chain.restart_broker,
        chain.kill_broker,
        chain.restart_telegraf,
        chain.kill_telegraf,
        chain.keep_broker_away,
    ]
    step = READINGS_OF_A_DAY // len(events)
    before = 0
    for place, event in enumerate(events):
        numbers = range(place * step, (place + 1) * step)
        sensor = threading.Thread(target=write_readings, args=(chain.terminal, numbers))
        sensor.start()
        time.sleep(len(numbers) * LINE_SECONDS / 2)
        event()
        sensor.join()
        readings = chain.telegraf.wait_for(numbers.stop)
        allowed = 0 if event == chain.nothing else IN_FLIGHT_MAX
        assert 0 <= repeated(readings) - before <= allowed, event
        before = repeated(readings)
    assert {each["fields"]["v"] for each in readings} == set(range(READINGS_OF_A_DAY))
    assert {each["tags"]["n"] for each in readings} == {"counter/n"}
