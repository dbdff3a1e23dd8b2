"""The status: what it warns of, and what it has of commits and the journal."""

import dataclasses

import pytest

from gateway.server.status.status import COMMIT_SLOW_SECONDS
from tests.peers.mqtt_bytes import publish
from tests.server.broker import log_in
from tests.server.conftest import Start


async def test_a_broker_that_is_well_warns_of_nothing(start: Start) -> None:
    broker = await start({})
    status = broker.status()
    assert status["warnings"] == []
    assert status["state"] == "running"
    assert status["store"] == {"recovery": "new", "detail": None}
    assert status["hooks"] is None


@pytest.mark.parametrize(
    ("fault", "warning"),
    [
        ("slow", "The slowest write took 3.0 s"),
        ("dropped", "7 messages were dropped"),
        ("full", "The disk is full"),
        ("journal", "The journal is more than half full"),
        ("damaged", "The data on disk were damaged at the last start: a page"),
    ],
)
async def test_each_fault_has_a_warning_that_states_what_to_look_at(
    start: Start, fault: str, warning: str
) -> None:
    broker = await start({})
    event_loop = broker.running.event_loop
    if fault == "slow":
        event_loop.committer.metrics.seconds_max = COMMIT_SLOW_SECONDS + 1
    elif fault == "dropped":
        event_loop.broker.statistics.dropped = {"queue_full": 4, "slow_reader": 3}
    elif fault == "full":
        event_loop.limits.disk_full = True
    elif fault == "journal":
        await log_in(broker, "c")
        event_loop.batch_limits = dataclasses.replace(event_loop.batch_limits, max_journal=1)
    else:
        broker.running.status._identity.damage = "a page"
    (found,) = broker.status()["warnings"]
    assert found.startswith(warning)
    event_loop.limits.disk_full = False


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
