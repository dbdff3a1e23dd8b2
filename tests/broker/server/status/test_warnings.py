"""Warnings of the status: which there are, what they name, and when they clear."""

import dataclasses

import pytest

from gateway.broker.access.rule_line import words_of
from gateway.broker.core.recent import STEP_SECONDS, STEPS, Recent
from gateway.broker.server.status.warnings import COMMIT_SLOW_SECONDS, rule_for
from tests.broker.server.broker import log_in
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
    (found,) = broker.status()["warnings"]
    assert found.startswith(warning)
    event_loop.limits.disk_full = False


async def test_a_queue_that_fills_up_is_warned_of_before_it_drops(start: Start) -> None:
    broker = await start({}, max_mqueue_len=10)
    away = await log_in(broker, "archive north")
    away.send(subscribe(1, ("t/#", 1)))
    await away.packet()
    away.close()
    client = await log_in(broker, "c")
    for number in range(1, 9):
        assert broker.status()["warnings"] == []
        client.send(publish("t/1", b"x", qos=1, packet_id=number))
        await client.packet()
    status = broker.status()
    assert status["queued"]["filling"] == 1
    (found,) = status["warnings"]
    assert found == (
        "The queue of client 'archive north' is 80 % full or more. New messages are dropped when "
        "it is full: bring the client back, raise [mqtt] max_mqueue_bytes, or end the session: "
        'oncegate ctl drop "archive north".'
    )


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
    (found,) = status["warnings"]
    assert found.startswith("Client 'slow' reads more slowly than others publish: publishers wait")


async def test_a_full_queue_names_its_session_and_the_fix_and_clears_after_an_hour(
    start: Start,
) -> None:
    broker = await start({}, max_mqueue_len=2)
    away = await log_in(broker, "archive north")
    away.send(subscribe(1, ("t/#", 1)))
    await away.packet()
    away.close()
    client = await log_in(broker, "c")
    for number in range(1, 6):
        client.send(publish("t/1", b"x", qos=1, packet_id=number))
        await client.packet()
    status = broker.status()
    (found,) = status["warnings"]
    assert found == (
        "3 messages for client 'archive north' were dropped in the last hour: its queue was full. "
        'Raise [mqtt] max_mqueue_len, or end the session: oncegate ctl drop "archive north".'
    )
    (entry,) = status["messages"]["dropped_last_hour"]
    assert (entry["client_id"], entry["reason"], entry["count"]) == (
        "archive north",
        "queue_full",
        3,
    )
    statistics = broker.running.event_loop.broker.statistics
    now = broker.running.event_loop._loop.time()
    statistics.recently_dropped.advance(now)
    statistics.recently_dropped.advance(now + AFTER_AN_HOUR)
    status = broker.status()
    assert status["warnings"] == []
    assert status["messages"]["dropped"] == {"queue_full": 3}, "the total stays"


async def test_drops_of_an_hour_are_shown_beside_the_total(start: Start) -> None:
    broker = await start({})
    statistics = broker.running.event_loop.broker.statistics
    statistics.dropped["queue_full"] = 70
    statistics.drop(None, "t", "no_member")
    (found,) = broker.status()["warnings"]
    assert found == (
        "1 message was dropped in the last hour, before delivery to any receiver: no_member. "
        "Since the start: 71 in all."
    )


async def test_of_many_clients_with_drops_some_are_named_and_the_others_counted(
    start: Start,
) -> None:
    broker = await start({})
    statistics = broker.running.event_loop.broker.statistics
    for number in range(5):
        statistics.recently_dropped.add("slow_reader", f"c{number}", None, "t")
    warnings = broker.status()["warnings"]
    assert len(warnings) == 4
    assert warnings[3].startswith("2 more messages were dropped for other receivers")


async def test_a_denied_publish_is_a_warning_with_the_rule_that_would_allow_it(
    start: Start,
) -> None:
    broker = await start({})
    statistics = broker.running.event_loop.broker.statistics
    for _ in range(12):
        statistics.recently_denied.add("publish_not_authorized", "plc", "line1", "plant/line1/temp")
    statistics.recently_denied.add("subscribe_not_authorized", "plc", "line1", "#")
    status = broker.status()
    (found,) = status["warnings"]
    assert found == (
        "Denied 'plant/line1/temp' 12 times in the last hour: access rules do not let client "
        "'plc' of user 'line1' publish there, and its messages were dropped. To allow it, add to "
        "the file of [access] rules_file: allow user line1 publish plant/line1/temp"
    )
    assert [each["reason"] for each in status["denied_last_hour"]] == [
        "publish_not_authorized",
        "subscribe_not_authorized",
    ]


@pytest.mark.parametrize(
    ("username", "reason", "topic", "words"),
    [
        ("anna b", "publish_not_authorized", "a b", ["allow", "user", "anna b", "publish", "a b"]),
        (None, "subscribe_not_authorized", "t/#", ["allow", "anonymous", "subscribe", "t/#"]),
    ],
)
def test_the_proposed_rule_reads_back_as_what_was_denied(
    username: str | None, reason: str, topic: str, words: list[str]
) -> None:
    entry = Recent(reason, "c")
    entry.username, entry.topic = username, topic
    assert words_of(rule_for(entry)) == words


async def test_a_limit_of_open_files_is_named_once_most_places_are_taken(start: Start) -> None:
    broker = await start({"protocol": "mqtt"})
    broker.running.status.bound_by_files = lambda: "At most 4 connections are open together"
    broker.running.event_loop.limits.max_connections = 4
    clients = [await log_in(broker, f"c{number}") for number in range(3)]
    assert not any("At most 4" in each for each in broker.status()["warnings"])
    clients.append(await log_in(broker, "c3"))
    assert "At most 4 connections are open together." in broker.status()["warnings"]
