"""A port that receives no byte is reported, reopened, and reported again when bytes arrive."""

import logging
from pathlib import Path

import pytest

from gateway.process.mqtt_client import backoff
from tests.bridge.running import port_on, running_bridge, settings_of
from tests.bridge.terminal import Terminal
from tests.system.broker_process import free_port


async def test_a_silent_port_is_reported_once_and_again_when_it_sends(
    terminal: Terminal, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    port = port_on(terminal, "json", silent_seconds=0.05)
    async with running_bridge(settings_of(tmp_path / "data", free_port(), port)) as room:
        await room.wait_for_port("sensor", "open")
        await room.wait_until(lambda room: room.port("sensor")["silent_seconds"] is not None)
        await terminal.write(b'{"a":1}\n')
        await room.wait_until(lambda room: room.port("sensor")["frames"] == 1)
    assert "sensor: bytes again" in caplog.text


async def test_a_port_that_stays_silent_is_opened_again_and_works(
    terminal: Terminal,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backoff, "FIRST_SECONDS", 0.01)
    port = port_on(terminal, "json", silent_seconds=0.05, reset_seconds=0.1)
    async with running_bridge(settings_of(tmp_path / "data", free_port(), port)) as room:
        await room.wait_until(lambda room: room.port("sensor").get("resets", 0) >= 5)
        assert len([line for line in caplog.messages if "sensor" in line]) <= 5
        assert caplog.text.count("no byte for") == 1
        assert room.port("sensor")["reopened"] >= 4
        while room.port("sensor")["frames"] == 0:
            # Bytes that arrive while the port is being reopened are lost.
            await terminal.write(b'{"a":1}\n')
            reports = len(room.requests)
            await room.wait_until(lambda room, before=reports: len(room.requests) > before)  # type: ignore[misc]
