"""`oncegate serial detect --ask` on a line whose device sends only when it is polled."""

import asyncio
import tomllib

import pytest

from gateway.cli.main import run
from tests.bridge.serial.d0_meter import D0Meter
from tests.bridge.terminal import Terminal


async def test_a_meter_that_has_to_be_asked_is_found_and_shown(
    terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    meter = asyncio.create_task(D0Meter(terminal).answer())
    command = ["serial", "detect", str(terminal.link), "--seconds", "0.05", "--ask"]
    assert await asyncio.to_thread(run, command) == 0
    await meter
    shown = capsys.readouterr()
    assert "300 7E1: d0 asked, answered" in shown.err
    assert "energy_import = 123.456 kWh" in shown.out
    (table,) = tomllib.loads(shown.out)["serial"]
    assert (table["framing"], table["line"]) == ("d0", "300 7E1")
