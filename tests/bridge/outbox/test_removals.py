"""Rows of completed exchanges."""

import asyncio

import pytest
from firmware_bridge.outbox import removals
from firmware_bridge.outbox.removals import Removals
from firmware_bridge.readings.publications import Publication

from gateway.process.mqtt_client.exchanges import Exchange
from tests.bridge.broker import DEADLINE_SECONDS

DONE = Exchange(1, 1, Publication("t", b""), released=True)


async def test_they_get_a_commit_of_their_own_when_none_has_come_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(removals, "REMOVAL_SECONDS", 0.01)
    woken = asyncio.Event()
    found = Removals(woken.set)
    found.add([DONE])
    found.postpone()
    found.postpone()
    assert not found.due
    await asyncio.wait_for(woken.wait(), DEADLINE_SECONDS)
    assert (found.due, found.exchanges) == (True, [DONE])
    found.committed()
    assert (found.due, found.exchanges) == (False, [])


async def test_without_any_no_commit_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removals, "REMOVAL_SECONDS", 0.01)
    woken = asyncio.Event()
    found = Removals(woken.set)
    found.postpone()
    found.add([DONE])
    found.postpone()
    found.committed()
    await asyncio.wait_for(woken.wait(), DEADLINE_SECONDS)
    assert not found.due, "they went with another commit meanwhile"
    found.add([DONE])
    found.postpone()
    woken.clear()
    found.cancel()
    await asyncio.sleep(0.05)
    assert not woken.is_set()
