"""Readings of a sensor through Node-RED, counted: each once, while either end is restarted."""

import time
from pathlib import Path

import pytest

from tests.bridge.firmware.bridge_process import BridgeProcess
from tests.bridge.terminal import Terminal
from tests.real_programs.node_red import NodeRed
from tests.system.broker_process import BrokerProcess

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

READINGS = 200
LINE_SECONDS = 0.02


def write_readings(terminal: Terminal, first: int) -> None:
    for number in range(first, first + READINGS):
        terminal.send(b'{"n":%d}\n' % number)
        time.sleep(LINE_SECONDS)


def test_node_red_gets_each_reading_once_over_restarts_of_both(tmp_path: Path) -> None:
    broker, terminal = BrokerProcess(), Terminal(tmp_path / "line")
    port = f'[[serial]]\nname = "counter"\npath = "{terminal.link}"\nframing = "json"\n'
    (tmp_path / "gateway").mkdir()
    bridge = BridgeProcess(tmp_path / "gateway", broker.port, port)
    node_red = NodeRed(tmp_path / "node-red", broker.port)
    try:
        broker.start()
        node_red.start()
        bridge.start()
        while "serial port counter: open" not in bridge.log():
            assert bridge.is_running, bridge.log()
            time.sleep(LINE_SECONDS)
        write_readings(terminal, 0)
        node_red.wait_for(READINGS)
        # Away: the broker keeps what is published meanwhile.
        node_red.stop()
        write_readings(terminal, READINGS)
        node_red.start()
        node_red.wait_for(2 * READINGS)
        broker.kill()
        write_readings(terminal, 2 * READINGS)
        broker.start()
        records = node_red.wait_for(3 * READINGS)
    finally:
        node_red.stop()
        bridge.kill()
        broker.remove()
        terminal.unplug()
    assert sorted(record["v"] for record in records) == list(range(3 * READINGS))
