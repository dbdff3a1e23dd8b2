"""The recorded wall clock: its quality, and that it never runs backwards over a restart."""

import ctypes
from typing import Any

import pytest

from gateway.broker.core.gateway_time import ClockQuality
from gateway.broker.server.host import clock
from gateway.broker.server.host.clock import WallClock

NOW_MS = 1_795_000_000_000
HOUR_MS = 3_600_000


class Machine:
    """A machine with clocks that a test sets."""

    def __init__(self) -> None:
        self.wall_ms = NOW_MS
        self.monotonic_ms = 5_000
        self.answers = [ClockQuality.UNSYNCHRONISED]
        """Reports of the kernel, one per call; the last one is repeated."""

    def pass_time(self, milliseconds: int) -> None:
        self.wall_ms += milliseconds
        self.monotonic_ms += milliseconds

    def quality(self) -> ClockQuality:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def time_ns(self) -> int:
        return self.wall_ms * 1_000_000

    def monotonic_ns(self) -> int:
        return self.monotonic_ms * 1_000_000


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr(clock, "time", made)
    monkeypatch.setattr(clock, "quality", made.quality)
    return made


def test_what_the_kernel_reports_is_one_of_the_qualities() -> None:
    assert clock.quality() in ClockQuality


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (-1, ClockQuality.UNKNOWN),
        (0, ClockQuality.SYNCHRONISED),
        (1, ClockQuality.SYNCHRONISED),
        (5, ClockQuality.UNSYNCHRONISED),
    ],
)
def test_only_an_error_of_the_clock_is_no_synchronised_clock(
    monkeypatch: pytest.MonkeyPatch, answer: int, found: int
) -> None:
    seen: list[bytes] = []

    class Libc:
        def adjtimex(self, buffer: Any) -> int:
            seen.append(bytes(buffer)[:4])
            return answer

    monkeypatch.setattr(ctypes, "CDLL", lambda name: Libc())
    monkeypatch.setattr("sys.platform", "linux")
    clock._adjtimex.cache_clear()
    try:
        assert clock.quality() == found
        assert seen == [bytes(4)], "modes are 0: the kernel's clock is read, not set"
    finally:
        clock._adjtimex.cache_clear()


def test_a_clock_that_starts_in_the_past_goes_on_from_what_was_written_down(
    machine: Machine,
) -> None:
    machine.wall_ms = 12_000
    wall = WallClock(NOW_MS, ClockQuality.SYNCHRONISED)
    assert wall.read() == (NOW_MS, ClockQuality.UNSYNCHRONISED)
    machine.pass_time(700)
    assert wall.read() == (NOW_MS + 700, ClockQuality.UNSYNCHRONISED)
    machine.wall_ms = NOW_MS + HOUR_MS
    machine.answers = [ClockQuality.SYNCHRONISED]
    assert wall.read() == (NOW_MS + HOUR_MS, ClockQuality.UNSYNCHRONISED)
    wall.query_kernel()
    assert wall.read() == (NOW_MS + HOUR_MS, ClockQuality.SYNCHRONISED)


def test_what_an_unsynchronised_clock_wrote_down_years_ahead_is_corrected(
    machine: Machine,
) -> None:
    wall = WallClock(NOW_MS + 30_000 * HOUR_MS, ClockQuality.UNSYNCHRONISED)
    assert wall.read() == (NOW_MS + 30_000 * HOUR_MS, ClockQuality.UNSYNCHRONISED)
    machine.answers = [ClockQuality.SYNCHRONISED]
    wall.query_kernel()
    assert wall.read() == (NOW_MS, ClockQuality.SYNCHRONISED)


def test_a_synchronised_clock_a_minute_back_is_waited_for(machine: Machine) -> None:
    machine.answers = [ClockQuality.SYNCHRONISED]
    wall = WallClock(NOW_MS + 60_000, ClockQuality.SYNCHRONISED)
    machine.pass_time(59_000)
    assert wall.read() == (NOW_MS + 60_000, ClockQuality.SYNCHRONISED)
    machine.pass_time(2_000)
    assert wall.read() == (NOW_MS + 61_000, ClockQuality.SYNCHRONISED)


def test_a_synchronised_clock_more_than_an_hour_back_is_believed(machine: Machine) -> None:
    machine.answers = [ClockQuality.SYNCHRONISED]
    assert WallClock(NOW_MS + HOUR_MS + 1, ClockQuality.SYNCHRONISED).read() == (
        NOW_MS,
        ClockQuality.SYNCHRONISED,
    )


def test_a_clock_that_is_set_while_it_is_read_is_not_synchronised(machine: Machine) -> None:
    wall = WallClock()
    machine.answers = [ClockQuality.SYNCHRONISED, ClockQuality.UNSYNCHRONISED]
    assert wall.query_kernel() == ClockQuality.UNSYNCHRONISED
    machine.answers = [ClockQuality.UNSYNCHRONISED, ClockQuality.SYNCHRONISED]
    assert wall.query_kernel() == ClockQuality.UNSYNCHRONISED


@pytest.mark.parametrize("step_ms", [-HOUR_MS, -100, 100, HOUR_MS])
def test_a_clock_that_was_set_since_the_kernel_was_asked_is_not_synchronised(
    machine: Machine, step_ms: int
) -> None:
    machine.answers = [ClockQuality.SYNCHRONISED]
    wall = WallClock()
    machine.pass_time(900)
    assert wall.read() == (NOW_MS + 900, ClockQuality.SYNCHRONISED)
    machine.wall_ms += step_ms
    assert wall.read() == (NOW_MS + 900 + step_ms, ClockQuality.UNSYNCHRONISED)
    wall.query_kernel()
    assert wall.read() == (NOW_MS + 900 + step_ms, ClockQuality.SYNCHRONISED)


def test_what_is_shown_is_what_the_other_processes_see(machine: Machine) -> None:
    machine.wall_ms = 12_000
    assert WallClock(NOW_MS, ClockQuality.SYNCHRONISED).shown() == (
        12_000,
        ClockQuality.UNSYNCHRONISED,
    )
