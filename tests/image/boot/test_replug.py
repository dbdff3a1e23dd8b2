"""The sensor's USB adapter is unplugged from a running gateway and plugged in again."""

import time
from pathlib import Path

import pytest

from tests.image.boot.card import Card
from tests.image.boot.conftest import PASSWORD, USER
from tests.image.boot.machine import MQTT, powered
from tests.image.boot.sensor import READINGS_A_FRAME, Board
from tests.image.boot.subscriber import Subscriber

pytestmark = pytest.mark.timeout(3600)
REPLUGS = 100
RETURN_SECONDS_MAX = 120.0


def test_an_adapter_replugged_100_times_loses_and_doubles_nothing(
    card: Card, tmp_path: Path, key: Path
) -> None:
    with powered(card, tmp_path, key=key) as machine, Board(machine.serial, 0.5) as board:
        machine.wait_until_healthy()
        with Subscriber(machine.port(MQTT), USER, PASSWORD) as subscriber:
            assert subscriber.subscribed.wait(60)
            board.start_measuring()
            for _ in range(REPLUGS):
                machine.unplug_sensor()
                machine.plug_in_sensor()
                wait_for_a_new_frame(board)
            board.stop_measuring()
            board.wait_until_all_is_acknowledged(300)
            subscriber.wait_for(board.acknowledged * READINGS_A_FRAME, 300)
        assert set(subscriber.readings.values()) == {1}
        assert board.given_up == 0
        assert machine.run("systemctl show -P NRestarts oncegate-bridge") == "0"
        machine.power_off()


def wait_for_a_new_frame(board: Board) -> None:
    """Wait until a frame measured after this call is acknowledged: then the bridge has found the
    adapter."""
    measured = board.acknowledged_up_to + board.board.waiting
    until = time.monotonic() + RETURN_SECONDS_MAX
    while board.acknowledged_up_to <= measured:
        assert time.monotonic() < until, "the bridge does not find the adapter again"
        time.sleep(0.1)
