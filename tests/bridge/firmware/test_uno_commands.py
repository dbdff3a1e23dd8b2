"""Commands from an MQTT 5.0 client through broker and bridge to the Uno in simavr, and back."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bridge.broker import DEADLINE_SECONDS, Subscriber
from tests.bridge.firmware.uno import UnoProcess, compile_simulator, compile_uno
from tests.bridge.mqtt.test_commander import ask
from tests.bridge.running import port_of, running_bridge, settings_of

BOARD = "board-00000148"
HOUR_MS = 3_600_000


@pytest.fixture
def uno(tmp_path: Path) -> Iterator[UnoProcess]:
    firmware, _ = compile_uno(tmp_path / "build", HOUR_MS)
    found = UnoProcess(compile_simulator(tmp_path), firmware, tmp_path)
    yield found
    found.close()


async def lamp_shows(uno: UnoProcess, changes: bytes) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not uno.lamp.read_bytes().endswith(changes):  # noqa: ASYNC110 - another process's
            await asyncio.sleep(0.02)


async def test_the_lamp_is_lit_and_the_interval_set_and_each_is_answered(
    uno: UnoProcess, subscriber: Subscriber, tmp_path: Path
) -> None:
    board = port_of("board", uno.link, "board")
    settings = settings_of(tmp_path / "data", subscriber.port, board, takes_commands=True)
    async with running_bridge(settings):
        uno.start()
        await subscriber.arrival_of(2)
        lit = uno.lamp.read_bytes()
        done = {"device": BOARD, "command": "identify", "result": "done"}
        assert await ask(subscriber.port, f"commands/{BOARD}/identify", "200") == done
        await lamp_shows(uno, lit + b"10")
        assert (await ask(subscriber.port, f"commands/{BOARD}/set_interval", "50")) == {
            **done,
            "command": "set_interval",
        }
        await subscriber.arrival_of(40)
    sequences = [record["sequence"] for record in subscriber.records()]
    assert sorted(sequences) == [number // 2 + 1 for number in range(len(sequences))]
