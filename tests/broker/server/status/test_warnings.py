"""Warnings in the status: which exist, what they name, and when they clear."""

import dataclasses

import pytest

from gateway.broker.core.recent import STEP_SECONDS, STEPS
from gateway.broker.server.status.warnings import COMMIT_SLOW_SECONDS
from tests.broker.server.broker import log_in, warnings_in
from tests.broker.server.conftest import Start
from tests.peers.mqtt_bytes import publish, subscribe

AFTER_AN_HOUR = STEP_SECONDS * (STEPS + 1)


@pytest.mark.parametrize(
    ("fault", "warning"),
    [
        ("slow", "The slowest write of the last hour took 3.0 s"),
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
        event_loop.committer.metrics.add(COMMIT_SLOW_SECONDS + 1, 1)
    elif fault == "full":
        event_loop.limits.disk_full = True
    elif fault == "journal":
        await log_in(broker, "c")
        event_loop.batch_limits = dataclasses.replace(event_loop.batch_limits, max_journal=1)
    else:
        broker.running.status._identity.damage = "a page"
    (found,) = broker.warnings()
    assert found.startswith(warning)
    event_loop.limits.disk_full = False


async def test_a_client_that_slows_publishers_is_named(start: Start) -> None:
    broker = await start({}, max_mqueue_len=4, max_inflight=1)
    slow = await log_in(broker, "slow", clean=True)
    slow.send(subscribe(1, ("t/#", 1)))
    await slow.packet()
    client = await log_in(broker, "c")
    for number in range(1, 5):
        client.send(publish("t/1", b"x", qos=1, packet_id=number))
    await broker.eventually(lambda: broker.status()["queued"]["slowing"] == 1)
    status = broker.status()
    assert status["queued"]["memory_bytes"] > 2 * 640
    assert status["queued"]["memory_limit_bytes"] >= 16 << 20
    (found,) = warnings_in(status)
    assert found.startswith("Client 'slow' reads more slowly than others publish: publishers wait")


async def test_a_limit_of_open_files_is_named_once_most_places_are_taken(start: Start) -> None:
    broker = await start({"protocol": "mqtt"})
    broker.running.status.bound_by_files = lambda: "At most 4 connections are open together"
    broker.running.event_loop.limits.max_connections = 4
    clients = [await log_in(broker, f"c{number}") for number in range(3)]
    assert not any("At most 4" in each for each in broker.warnings())
    clients.append(await log_in(broker, "c3"))
    [warning] = broker.warnings()
    assert warning.startswith("At most 4 connections are open together.")
