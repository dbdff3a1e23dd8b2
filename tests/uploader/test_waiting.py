from __future__ import annotations

import asyncio

from gateway.uploader.waiting import Backoff, either_within, happened_within


async def test_a_wait_ends_with_its_event_or_with_its_time() -> None:
    event = asyncio.Event()
    assert not await happened_within(event, 0.001)
    asyncio.get_running_loop().call_soon(event.set)
    assert await happened_within(event, 60)


async def test_a_wait_for_two_ends_with_either_and_leaves_no_task() -> None:
    one, other = asyncio.Event(), asyncio.Event()
    before = len(asyncio.all_tasks())
    await either_within(one, other, 0.001)
    for event in (one, other):
        asyncio.get_running_loop().call_soon(event.set)
        async with asyncio.timeout(30):
            await either_within(one, other, 60)
        event.clear()
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == before


def test_waits_double_up_to_a_limit_with_jitter_and_begin_again_after_a_reset() -> None:
    backoff = Backoff((1.0, 5.0))
    for longest in (1.0, 2.0, 4.0, 5.0, 5.0):
        assert longest / 2 <= backoff.next_seconds() <= longest
    backoff.reset()
    assert backoff.next_seconds() <= 1.0
