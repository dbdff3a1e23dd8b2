"""The progress of a detection as a person sees it: lines that are tried, the protocol found, and
values as they arrive."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from firmware_bridge.protocols.frame import Frame
from firmware_bridge.readings.measurement import Measurement
from firmware_bridge.serial.detection import (
    TEXT_CHARACTERS_MAX,
    VALUES_MAX,
    Detection,
    selection_of,
    values_of,
)

from gateway.process.control.messages import Refused
from gateway.process.declarations.serial_line import Line
from tests.bridge.broker import DEADLINE_SECONDS
from tests.bridge.terminal import Terminal

LINE_SECONDS = 0.3


@contextlib.asynccontextmanager
async def running(detection: Detection) -> AsyncIterator[None]:
    """Run a detection until the block ends."""
    task = asyncio.create_task(detection.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(
    detection: Detection,
    condition: Callable[[dict[str, Any]], bool],
    feed: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Return the progress once the condition holds."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not condition(progress := detection.progress()):
            feed()
            await asyncio.sleep(0.01)
    return progress


async def test_values_are_shown_as_they_arrive_after_the_protocol_is_found(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "port")
    values = iter(range(1_000_000))

    def feed() -> None:
        terminal.send(json.dumps({"temperature": next(values)}).encode() + b"\n")

    detection = Detection(str(terminal.link), lines=(Line(), Line(9600)), line_seconds=LINE_SECONDS)
    async with running(detection):
        found = await until(detection, lambda shown: shown["state"] == "found", feed)
        assert [each["framing"] for each in found["tried"]] == ["json"]
        assert found["found"]["table"] == {
            "path": str(terminal.link),
            "framing": "json",
            "line": "115200 8N1",
        }
        before = found["found"]["values"][0]["value"]
        await until(detection, lambda shown: shown["found"]["values"][0]["value"] > before, feed)
    terminal.unplug()


async def test_a_silent_port_is_tried_with_each_line_and_nothing_is_found(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "port")
    lines = (Line(), Line(9600))
    detection = Detection(str(terminal.link), lines=lines, line_seconds=0.05)
    assert detection.progress()["lines_left"] == 2
    await detection.run()
    shown = detection.progress()
    assert (shown["state"], shown["found"], shown["lines_left"]) == ("nothing", None, 0)
    assert [each["bytes"] for each in shown["tried"]] == [0, 0]
    terminal.unplug()


async def test_a_port_that_cannot_be_opened_fails_with_the_reason(tmp_path: Path) -> None:
    detection = Detection(str(tmp_path / "absent"))
    await detection.run()
    shown = detection.progress()
    assert shown["state"] == "failed"
    assert "absent" in str(shown["trouble"])


async def test_a_port_that_is_pulled_out_fails_with_the_reason(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "port")
    detection = Detection(str(terminal.link), line_seconds=DEADLINE_SECONDS)
    async with running(detection):
        # The port is open as soon as bytes are read from it.
        await terminal.write(b"x" * 100_000)
        terminal.unplug()
        shown = await until(detection, lambda shown: shown["state"] == "failed")
    assert shown["trouble"]


@pytest.mark.parametrize("port", ["", "ttyUSB0", "tcp://host:1", "/dev/x\0", "1:2:", "/"])
def test_what_names_no_serial_port_of_this_machine_is_refused(port: str) -> None:
    with pytest.raises(Refused, match="a port is a path"):
        selection_of(port)


def test_paths_and_usb_identities_are_keys_of_their_own() -> None:
    assert selection_of("/dev/ttyUSB0") == {"path": "/dev/ttyUSB0"}
    assert selection_of('0403:6001:A"1') == {"usb": '0403:6001:A"1'}


def test_odd_values_are_shown_as_text_and_bounded() -> None:
    found = [
        Measurement("a", float("nan")),
        Measurement("b", b"\x01\xff"),
        Measurement("c", "x" * 1_000),
        Measurement("d", True),
        *(Measurement(f"e{number}", number, "Cel") for number in range(100)),
    ]
    shown = values_of(Frame({"all": found}))
    assert len(shown) == VALUES_MAX
    assert [each["value"] for each in shown[:4]] == ["nan", "01ff", "x" * TEXT_CHARACTERS_MAX, True]
    assert shown[4] == {"name": "e0", "value": 0, "unit": "Cel"}
    json.dumps(shown, allow_nan=False)
