"""The order and the times at which the Modbus poller requests the registers of devices."""

import pytest
from firmware_bridge.protocols.frame import Damage, Refused
from firmware_bridge.protocols.interface import Pause, Request
from firmware_bridge.protocols.modbus_device import Device
from firmware_bridge.protocols.modbus_plan import BUSY_SECONDS

from gateway.process.declarations.serial_line import Line
from tests.bridge.protocols.test_modbus import PUMP, TANK, settings


def test_each_block_is_asked_for_with_silence_before_it_and_a_silent_device_is_left() -> None:
    line = Line(9600, 8, "E", 1)
    poller = settings(PUMP, TANK, poll_interval=10.0).poller(line)
    poller.begin(100.0)
    pause = poller.next_step(100.0)
    assert isinstance(pause, Pause)
    assert pause.seconds == pytest.approx(3.5 * 11 / 9600)
    first = poller.next_step(100.1)
    assert isinstance(first, Request)
    assert first.data[0] == 5
    for address in (5, 9):
        poller.end(Damage("no_answer"), 101.0)
        assert isinstance(poller.next_step(101.0), Pause)
        request = poller.next_step(101.1)
        assert isinstance(request, Request)
        assert request.data[0] == address
    poller.end(Damage("no_answer"), 102.0)
    assert isinstance(poller.next_step(102.0), Pause)
    rest = poller.next_step(102.1)
    assert isinstance(rest, Pause)
    assert 7.8 < rest.seconds < 8.2


def test_a_busy_device_is_asked_again_after_a_pause() -> None:
    poller = settings(TANK, poll_interval=10.0).poller(Line())
    poller.begin(0.0)
    first = poller.next_step(1.0)
    poller.end(Refused("exception_6"), 1.0)
    pause = poller.next_step(1.0)
    assert isinstance(pause, Pause)
    assert pause.seconds == pytest.approx(BUSY_SECONDS)
    assert poller.next_step(1.0 + BUSY_SECONDS) == first


def test_a_device_has_an_interval_of_its_own_where_it_names_one() -> None:
    slow = Device(name="slow", address=9, registers=TANK.registers, poll_interval=60.0)
    usual = Device(name="usual", address=5, registers=TANK.registers)
    poller = settings(slow, usual, poll_interval=10.0).poller(Line())
    poller.begin(0.0)
    asked: list[tuple[int, int]] = []
    now = 0.0
    while now < 125.0:
        step = poller.next_step(now)
        if isinstance(step, Pause):
            now += step.seconds
        else:
            asked.append((step.data[0], round(now)))
            poller.end(Damage("no_answer"), now)
    assert [when for address, when in asked if address == 9] == [0, 60, 120]
    assert [when for address, when in asked if address == 5] == list(range(0, 125, 10))


def test_a_poll_that_a_lost_port_interrupts_is_continued_and_the_schedule_is_kept() -> None:
    poller = settings(PUMP, poll_interval=10.0).poller(None)
    poller.begin(3.0)
    blocks = []
    for now in (3.0, 3.0, 3.5, 4.0, 4.5):
        request = poller.next_step(now)
        assert isinstance(request, Request)
        blocks.append(request.text)
        if len(blocks) == 1:
            poller.end(Damage("checksum"), now)
        else:
            poller.begin(now)  # The connection was lost before the response.
    first, second, third = list(dict.fromkeys(blocks))
    assert blocks == [first, second, second, third, third]
    pause = poller.next_step(5.0)
    assert isinstance(pause, Pause)
    assert pause.seconds == pytest.approx(8.0)


def test_an_interval_that_is_over_is_left_out_and_not_made_up_for() -> None:
    poller = settings(TANK, poll_interval=1.0).poller(Line())
    poller.begin(0.0)
    for now, due in ((0.1, 1.0), (3.4, 4.0), (4.0, 5.0)):
        assert isinstance(poller.next_step(now), Request)
        poller.end(Damage("no_answer"), now - 0.05)
        pause = poller.next_step(now)
        assert isinstance(pause, Pause)
        assert now + pause.seconds == pytest.approx(due)
