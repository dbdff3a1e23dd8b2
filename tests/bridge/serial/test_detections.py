"""One detection per port, a few at the same time, and none that no person is watching."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest
from firmware_bridge.serial import detections as module
from firmware_bridge.serial.detections import DETECTIONS_MAX, Detections, reader_of
from firmware_bridge.serial.settings import PortSettings

from gateway.process.control.messages import Refused
from tests.bridge.broker import DEADLINE_SECONDS
from tests.bridge.running import port_of, port_on
from tests.bridge.terminal import Terminal


@contextlib.asynccontextmanager
async def running(configured: Sequence[PortSettings] = ()) -> AsyncIterator[Detections]:
    """Run detections until the block ends."""
    detections = Detections(lambda: configured)
    task = asyncio.create_task(detections.run())
    try:
        yield detections
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert detections.states() == {}


async def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not condition():  # noqa: ASYNC110 - a detection has no event to wait for
            await asyncio.sleep(0.01)


async def test_a_second_request_for_a_port_gets_the_progress_of_the_first(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "port")
    async with running() as detections:
        first = await detections.begin(str(terminal.link))
        second = await detections.begin(str(terminal.link))
        assert (first["state"], second["state"]) == ("trying", "trying")
        assert second["seconds"] >= first["seconds"]
        assert list(detections.states()) == [str(terminal.link)]
    terminal.unplug()


async def test_a_port_that_is_read_is_refused_with_the_sensor_and_the_fix(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "port")
    other = tmp_path / "by-id"
    other.symlink_to(terminal.link)
    async with running([port_on(terminal, "json")]) as detections:
        with pytest.raises(Refused, match=r"read as the sensor sensor: .* remove the sensor") as no:
            await detections.begin(str(other))
        assert no.value.code == "conflict"
        assert [*detections.readers().values()] == ["sensor"]
    assert reader_of(str(other), [port_of("a", tmp_path / "absent", "json")]) is None
    terminal.unplug()


async def test_detections_are_bounded_in_number(tmp_path: Path) -> None:
    terminals = [Terminal(tmp_path / f"port{number}") for number in range(DETECTIONS_MAX + 1)]
    async with running() as detections:
        for terminal in terminals[:-1]:
            await detections.begin(str(terminal.link))
        with pytest.raises(Refused, match="detections run: close their pages") as refused:
            await detections.begin(str(terminals[-1].link))
        assert refused.value.code == "busy"
    for terminal in terminals:
        terminal.unplug()


async def test_a_detection_that_no_person_watches_ends_and_frees_its_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "UNWATCHED_SECONDS_MAX", 0.2)
    terminal = Terminal(tmp_path / "port")
    async with running() as detections:
        await detections.begin(str(terminal.link))
        await until(lambda: not detections.states())
        with pytest.raises(Refused, match="no detection runs"):
            detections.progress(str(terminal.link))
        await detections.begin(str(terminal.link))
    terminal.unplug()


async def test_a_detection_that_found_nothing_is_begun_again(tmp_path: Path) -> None:
    absent = str(tmp_path / "absent")
    async with running() as detections:
        await detections.begin(absent)
        await until(lambda: detections.progress(absent)["state"] == "failed")
        assert (await detections.begin(absent))["state"] == "trying"


async def test_a_port_that_becomes_a_sensor_is_not_detected_any_longer(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "port")
    async with running() as detections:
        await detections.begin(str(terminal.link))
        await detections.end_on([port_on(terminal, "json")])
        assert detections.states() == {}
    terminal.unplug()
