"""A port with many damaged frames has one warning, until its line is sound again."""

import logging
import time
from pathlib import Path

import pytest
from firmware_bridge.serial.damage_share import WINDOW_SECONDS_MAX, DamageShare

from tests.bridge.running import port_on, running_bridge, settings_of
from tests.bridge.terminal import Terminal
from tests.system.broker_process import free_port


class Line:
    """Frames that arrive at a fixed rate, with a clock that only the test advances."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.frames = self.damaged = 0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        self.damage = DamageShare("gps")

    def run(self, seconds: int, *, each: int, damaged_of: int = 0) -> None:
        """Count one frame every `each` seconds for `seconds`.

        One in `damaged_of` frames is damaged.
        """
        for number in range(seconds // each):
            self.now += each
            if damaged_of and number % damaged_of == 0:
                self.damaged += 1
            else:
                self.frames += 1
            self.damage.update(frames=self.frames, damaged=self.damaged)


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Line:
    return Line(monkeypatch)


@pytest.mark.parametrize(("each", "seconds"), [(1, 60), (10, 600), (60, 1800)])
def test_a_quarter_of_damaged_frames_is_a_warning_until_the_line_is_sound(
    line: Line, caplog: pytest.LogCaptureFixture, each: int, seconds: int
) -> None:
    caplog.set_level(logging.INFO)
    line.run(7200, each=each)
    assert not line.damage.warns
    line.run(seconds, each=each, damaged_of=4)
    line.run(seconds, each=each, damaged_of=4)
    assert line.damage.warns
    line.run(7200, each=each)
    assert not line.damage.warns
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_a_share_between_the_two_thresholds_changes_nothing(line: Line) -> None:
    line.run(1200, each=1, damaged_of=14)
    assert not line.damage.warns
    line.run(1200, each=1, damaged_of=4)
    assert line.damage.warns
    line.run(7200, each=1, damaged_of=14)
    assert line.damage.warns


def test_a_few_damaged_frames_are_no_warning(line: Line) -> None:
    line.run(4, each=1, damaged_of=1)
    assert (line.damage.share, line.damage.warns) == (1.0, False)


def test_a_line_on_which_every_frame_is_damaged_is_a_warning(line: Line) -> None:
    line.run(30, each=1, damaged_of=1)
    assert line.damage.warns


def test_a_line_that_fell_silent_is_judged_no_more(line: Line) -> None:
    line.run(300, each=1, damaged_of=2)
    line.now += 2 * WINDOW_SECONDS_MAX
    line.damage.update(frames=line.frames, damaged=line.damaged)
    line.now += 2 * WINDOW_SECONDS_MAX
    line.damage.update(frames=line.frames, damaged=line.damaged)
    assert (line.damage.share, line.damage.warns) == (None, False)


async def test_the_report_has_the_share_of_a_port_of_which_a_quarter_is_damaged(
    terminal: Terminal, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_of(tmp_path / "data", free_port(), port_on(terminal, "json"))
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(b'{"a":1}\n{"a":2}\n{"a":3}\n{"a"\n' * 25)
        await room.wait_until(lambda room: sum(room.port("sensor")["damaged"].values()) == 25)
        port = room.port("sensor")
    assert (port["damaged_share"], port["damage_warning"]) == (0.25, True)
    assert caplog.text.count("25 % of the latest frames were damaged (25 of 100)") == 1
