"""The power is cut while readings arrive: none is lost, and none arrives twice.

A killed QEMU loses what the guest had not yet written to its card. It cannot show what a card loses
although the card reported it as flushed.
"""

import os
import random
from pathlib import Path

import pytest

from tests.image.boot.card import Card
from tests.image.boot.conftest import PASSWORD
from tests.image.boot.machine import MQTT, powered
from tests.image.boot.sensor import READINGS_A_FRAME, Board
from tests.image.boot.subscriber import Subscriber

pytestmark = pytest.mark.timeout(7200)
CUTS = int(os.environ.get("CUTS", "10"))
FRAME_SECONDS = 1.0
"""Time between two frames.

The board's memory holds an hour of them while the gateway is off, so none is given up.
"""
QUANTITIES = ("humidity", "pressure", "temperature")


def test_cuts_under_load_lose_and_double_nothing(card: Card, tmp_path: Path, key: Path) -> None:
    chance = random.Random(20261122)  # noqa: S311 - moments, no secret
    subscriber = Subscriber(0, "cellar", PASSWORD)
    with Board(tmp_path / "sensor.sock", FRAME_SECONDS) as board, subscriber:
        for cut in range(CUTS + 1):
            with powered(card, tmp_path, key=key) as machine:
                subscriber.port = machine.port(MQTT)
                machine.wait_for_console("login:")
                assert subscriber.subscribed.wait(300)
                board.start_measuring()
                subscriber.wait_for(len(subscriber.readings) + 20 * READINGS_A_FRAME, 600)
                if cut == CUTS:
                    board.stop_measuring()
                    board.wait_until_all_is_acknowledged(600)
                    subscriber.wait_for(board.acknowledged * READINGS_A_FRAME, 600)
                    machine.power_off()
                    break
                # A random moment, so that the cuts do not always come after the same step.
                subscriber.wait_for(len(subscriber.readings) + chance.randint(1, 40), 600)
                machine.cut_power()
            print(f"cut {cut + 1}: {len(subscriber.readings)} readings", flush=True)
    assert subscriber.sessions_lost == 0
    assert board.given_up == 0
    assert set(subscriber.readings.values()) == {1}
    wanted = {
        ("board-0000002a", 1, sequence, quantity)
        for sequence in range(1, board.acknowledged + 1)
        for quantity in QUANTITIES
    }
    assert set(subscriber.readings) == wanted
    print(f"{CUTS} cuts, {len(wanted)} readings, each once")


@pytest.mark.parametrize(
    "moment",
    ["Reached target local-fs.target", "on-line resizing required", "Starting device-provision"],
)
def test_a_cut_during_the_first_boot_leaves_a_card_that_boots(
    card: Card, tmp_path: Path, key: Path, moment: str
) -> None:
    with powered(card, tmp_path, key=key) as machine:
        machine.wait_for_console(moment)
        machine.cut_power()
    with powered(card, tmp_path, key=key) as machine:
        machine.wait_until_healthy()
        assert machine.run("hostname") == "cabinet-7"
        assert PASSWORD not in machine.run("cat /boot/firmware/gateway.toml")
        assert int(machine.run("df --output=size -BM /var | tail -1").rstrip("M")) > 2000
        machine.power_off()
