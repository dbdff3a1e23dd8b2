"""The control socket may be absent, slow or hostile, and the bridge continues to work."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from firmware_bridge.control_socket import (
    ALARMS_MAX,
    STATUS_BYTES_MAX,
    ControlSocket,
    alarm_payloads,
    shortened,
)

from tests.bridge.broker import DEADLINE_SECONDS
from tests.bridge.running import ControlRoom


@contextlib.asynccontextmanager
async def reporting(path: Path) -> AsyncIterator[ControlSocket]:
    control = ControlSocket(path)
    task = asyncio.create_task(control.run(lambda: {"ports": []}, 0.02))
    try:
        yield control
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_observations_wait_in_order_until_the_socket_is_there(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    async with reporting(path) as control:
        control.observe("serial_port_found", "a", "/dev/a")
        control.observe("serial_port_lost", "a", "pulled out")
        async with ControlRoom(path) as room:
            await room.wait_until(lambda room: len(room.observations) == 2)
            assert [each["event"] for each in room.observations] == [
                "serial_port_found",
                "serial_port_lost",
            ]


async def test_a_socket_that_answers_rubbish_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    asked: asyncio.Queue[bytes] = asyncio.Queue()

    async def answer_rubbish(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            asked.put_nowait(line)
            writer.write(b"\xff rubbish\n")
        writer.close()

    server = await asyncio.start_unix_server(answer_rubbish, path)
    async with server, reporting(path):
        for _ in range(3):
            await asyncio.wait_for(asked.get(), DEADLINE_SECONDS)


@pytest.mark.parametrize("count", [1, 10, 40])
def test_a_status_too_long_shows_fewer_values_and_keeps_its_counters(count: int) -> None:
    quantity = {"name": "q" * 60, "value": "v" * 60, "unit": None, "time_ms": 0}
    device = {"device": "d", "quantities": [quantity] * 32}
    port = {"name": "p", "frames": 7, "devices": [device] * 64}
    shown = shortened({"ports": [port] * count})
    assert len(json.dumps(shown)) <= STATUS_BYTES_MAX
    ports = shown["ports"]
    assert isinstance(ports, list)
    assert [port["frames"] for port in ports] == [7] * count


def test_alarms_become_payloads_and_a_kind_without_one_an_empty_one() -> None:
    assert alarm_payloads({"disk_low": {"level": "warning"}, "port_lost": None}) == {
        "disk_low": b'{"level":"warning"}',
        "port_lost": b"",
    }


@pytest.mark.parametrize("alarms", [None, [], "x", {"a/b": None}, {"#": {}}, {"": None}])
def test_what_is_no_alarm_has_no_topic(alarms: object) -> None:
    assert alarm_payloads(alarms) == {}


def test_alarms_are_bounded() -> None:
    many = {f"k{'a' * (number % 30)}{'b' * (number // 30)}": None for number in range(300)}
    assert len(alarm_payloads(many)) == ALARMS_MAX
