"""The waiting time before the next attempt."""

import asyncio
from itertools import pairwise

import pytest

from gateway.process.mqtt_client import backoff
from gateway.process.mqtt_client.backoff import Backoff


async def test_each_wait_is_about_twice_the_one_before_up_to_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []

    async def note(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", note)
    waiting = Backoff(last_seconds=4.0)
    for _ in range(8):
        await waiting.wait()
    assert all(later > earlier for earlier, later in pairwise(waits[:4]))
    assert 0.2 <= waits[0] <= backoff.FIRST_SECONDS
    assert all(3.2 <= seconds <= 4.0 for seconds in waits[4:])
    waiting.reset()
    await waiting.wait()
    assert waits[-1] <= backoff.FIRST_SECONDS
