from __future__ import annotations

import asyncio
import threading

import pytest

from gateway.uploader.upload.daemon_thread import in_daemon_thread


async def test_the_loop_continues_beside_the_work() -> None:
    goes_on, done = threading.Event(), threading.Event()

    def work() -> None:
        assert threading.current_thread().daemon
        assert goes_on.wait(10)
        done.set()

    task = asyncio.create_task(in_daemon_thread(work))
    await asyncio.sleep(0)
    assert not done.is_set()
    goes_on.set()
    await task
    assert done.is_set()


async def test_what_the_work_raises_is_raised() -> None:
    def work() -> None:
        raise ValueError("no such bucket")

    with pytest.raises(ValueError, match="no such bucket"):
        await in_daemon_thread(work)


def test_a_loop_that_has_been_closed_is_no_failure_of_work_that_ends_later() -> None:
    goes_on, ended = threading.Event(), threading.Event()

    def work() -> None:
        goes_on.wait(10)
        ended.set()

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await in_daemon_thread(work)

    before = set(threading.enumerate())
    asyncio.run(give_up())
    (thread,) = set(threading.enumerate()) - before
    goes_on.set()
    assert ended.wait(10)
    thread.join(10)
    assert not thread.is_alive()
