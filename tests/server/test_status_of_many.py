"""The status of many sessions is counted in slices, and right."""

import pytest

from gateway.server import session_totals
from tests.server.conftest import Start
from tests.system.mqtt_bytes import connect, publish, subscribe


async def test_a_status_that_takes_many_turns_counts_every_session_once(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_totals, "SLICE_SESSIONS", 2)
    broker = await start({})
    for number in range(6):
        client = await broker.open()
        client.send(connect(f"c{number}", clean=number % 3 == 0))
        await client.packet()
        client.send(subscribe(1, ("t", 1)))
        await client.packet()
        if number % 2:
            client.cut()
    await broker.eventually(lambda: broker.running.status()["connections"]["open"] == 3)
    publisher = await broker.open()
    await publisher.connect("publisher")
    publisher.send(publish("t", b"x", qos=1, packet_id=1))
    assert (await publisher.packet())[0] == 0x40
    status = await broker.running.status_by_slices()
    # Session 3 was clean and is gone; 1 and 5 are away, and each keeps the message in its queue.
    assert status["sessions"] == {"connected": 4, "persistent": 4, "total": 6}
    assert status["queued"]["messages"] == 2
    assert status["inflight"] == 3
