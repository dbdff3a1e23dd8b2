"""Queued messages are read from disk in pages, a limited number per tick."""

from pathlib import Path

from gateway.broker.server.event_loop.pages import PAGES_PER_TICK_MAX, Pages
from gateway.broker.wire.packets import Connect, Publish
from tests.broker.core.harness import Harness, payloads


async def test_a_crowd_that_comes_back_has_its_queues_read_some_in_a_tick(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    names = [f"s{number}" for number in range(2 * PAGES_PER_TICK_MAX + 1)]
    for name in names:
        harness.lose(harness.subscriber(name, "t", 1))
    harness.connect("p", clean=True).send(Publish("t", b"x", 1, False, False, 1))
    harness.commit()
    harness.checkpoint()
    pages = Pages(harness.broker, harness.store)
    assert not pages.are_wanted()
    clients = [harness.open_connection() for _ in names]
    for name, client in zip(names, clients, strict=True):
        client.send(Connect(4, name, False, 0, None, None, None))
    ticks = 0
    while pages.are_wanted():
        pages.load()
        ticks += 1
        started = [name for name in names if harness.session(name).outbound]
        assert len(started) == min(len(names), ticks * PAGES_PER_TICK_MAX)
    assert ticks == 3
    harness.commit()
    assert [payloads(client.take()) for client in clients] == [[b"x"]] * len(names)
    harness.close()
