"""The status: its warnings, and its metrics of commits and the journal."""

from tests.broker.server.broker import log_in, warnings_in
from tests.broker.server.conftest import Start
from tests.peers.mqtt_bytes import publish


async def test_a_broker_that_is_well_warns_of_nothing(start: Start) -> None:
    broker = await start({})
    status = broker.status()
    assert warnings_in(status) == []
    assert status["state"] == "running"
    assert status["store"] == {"recovery": "new", "detail": None}
    assert status["hooks"] is None


async def test_the_journal_s_numbers_go_on_with_what_is_recorded(start: Start) -> None:
    broker = await start({})
    before = broker.status()["journal"]
    client = await log_in(broker, "c")
    client.send(publish("t", b"x", qos=1, packet_id=1, retain=True))
    await client.packet()
    after = broker.status()["journal"]
    assert after["last_sequence"] > before["last_sequence"]
    assert after["batches"] > before["batches"]
    assert after["facts"] == after["last_sequence"] - after["first_sequence"] + 1
    assert after["commit_ms_max"] >= after["commit_ms_mean"] > 0
