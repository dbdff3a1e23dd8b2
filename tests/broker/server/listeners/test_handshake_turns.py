"""Handshakes get one slice of each turn of the event loop; the others wait in order."""

import asyncio
from time import perf_counter

from gateway.broker.server.listeners.handshake_turns import SLICE_SECONDS, HandshakeTurns


def work(seconds: float) -> None:
    end = perf_counter() + seconds
    while perf_counter() < end:
        pass


async def test_what_fits_in_the_slice_is_done_immediately() -> None:
    turns = HandshakeTurns()
    done: list[int] = []
    assert turns.take(lambda: done.append(1))
    assert turns.take(lambda: done.append(2))
    assert done == [1, 2]


async def test_what_is_more_waits_in_order_and_others_come_in_between() -> None:
    turns = HandshakeTurns()
    done: list[str] = []
    loop, over = asyncio.get_running_loop(), asyncio.Event()

    def step(name: str) -> None:
        work(SLICE_SECONDS)
        done.append(name)

    def others_turn() -> None:
        done.append("-")
        if "d" in done:
            over.set()
        else:
            loop.call_soon(others_turn)

    taken = [turns.take(lambda name=name: step(name)) for name in "abcd"]  # type: ignore[misc]
    loop.call_soon(others_turn)
    assert taken == [True, False, False, False]
    await over.wait()
    assert "".join(done).replace("-", "") == "abcd"
    assert "bc" not in "".join(done)
    assert "cd" not in "".join(done)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert turns.take(lambda: done.append("e")), "the slice is free again"
