"""The capacity of the outbox: accepted and refused readings, and the status for the report."""

import asyncio
import logging

import pytest
from firmware_bridge.outbox.capacity import Capacity

from tests.bridge.broker import DEADLINE_SECONDS


def test_it_is_full_at_the_limit_and_takes_again_well_below_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    capacity = Capacity(1000)
    full = []
    for held in (999, 1000, 1200, 950, 900, 899, 999):
        capacity.update(held)
        full.append(capacity.full)
    assert full == [False, True, True, True, True, False, False]
    assert caplog.text.count("the outbox is full (1000 bytes)") == 1
    assert caplog.text.count("accepts readings again (899 bytes)") == 1


def test_a_full_disk_is_reported_once_and_makes_it_full(caplog: pytest.LogCaptureFixture) -> None:
    capacity = Capacity(1000)
    assert capacity.note_disk(has_room=False)
    assert not capacity.note_disk(has_room=False)
    capacity.update(0)
    assert (capacity.full, capacity.disk_full) == (True, True)
    assert capacity.note_disk(has_room=True)
    capacity.update(0)
    assert (capacity.full, capacity.disk_full) == (False, False)
    assert caplog.text.count("the disk is full") == 1


async def test_who_waits_for_room_goes_on_when_there_is_some() -> None:
    capacity = Capacity(1000)
    capacity.update(1000)
    waiting = asyncio.create_task(capacity.wait_for_room())
    await asyncio.sleep(0)
    assert not waiting.done()
    capacity.update(0)
    await asyncio.wait_for(waiting, DEADLINE_SECONDS)
