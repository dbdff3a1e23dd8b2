"""The devices of a port that have sent recently."""

import time

import pytest
from firmware_bridge.serial.presence import DEVICES_WATCHED_MAX, Presence


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_device_is_there_from_its_frame_until_it_is_silent_and_again(clock: list[float]) -> None:
    devices = Presence(10.0, ["pump"])
    assert devices.states() == {"pump": False}
    devices.note("board-1")
    assert devices.states() == {"pump": False, "board-1": True}
    clock[0] = 110.0
    devices.note("pump")
    assert devices.states() == {"pump": True, "board-1": False}
    devices.note("board-1")
    assert devices.states() == {"pump": True, "board-1": True}


def test_while_the_port_is_not_read_states_stay_as_they_are(clock: list[float]) -> None:
    devices = Presence(10.0, ["gone"])
    devices.note("board-1")
    for clock[0] in range(105, 200, 5):
        devices.note_held()
    assert devices.states() == {"gone": False, "board-1": True}


def test_without_a_time_no_device_is_watched() -> None:
    devices = Presence(None, ["pump"])
    devices.note("board-1")
    devices.note_held()
    assert devices.states() == {}


def test_the_devices_that_are_watched_are_bounded() -> None:
    devices = Presence(10.0, [])
    for number in range(DEVICES_WATCHED_MAX + 9):
        devices.note(f"board-{number}")
    assert len(devices.states()) == DEVICES_WATCHED_MAX


def test_a_silent_device_has_its_seconds_also_one_that_never_sent(clock: list[float]) -> None:
    devices = Presence(10.0, ["pump"])
    devices.note("board-1")
    assert (devices.silent(), devices.watched) == ({}, 2)
    clock[0] = 109.0
    devices.note("board-1")
    clock[0] = 112.0
    assert devices.silent() == {"pump": 12.0}
    clock[0] = 120.0
    assert devices.silent() == {"pump": 20.0, "board-1": 11.0}
    devices.note("pump")
    assert devices.silent() == {"board-1": 11.0}
