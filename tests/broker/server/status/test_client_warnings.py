"""Warnings about clients: drops, denials, shared identifiers, and when they clear."""

import pytest

from gateway.broker.access.rules.defaults import PAGE_CLIENT_ID
from gateway.broker.access.rules.line import words_of
from gateway.broker.core.recent import STEP_SECONDS, STEPS, Recent
from gateway.broker.server.status.client_warnings import rule_for
from tests.broker.server.broker import log_in, warnings_in
from tests.broker.server.conftest import Start
from tests.peers.mqtt_bytes import publish, subscribe

AFTER_AN_HOUR = STEP_SECONDS * (STEPS + 1)


async def test_a_queue_that_fills_up_is_warned_of_before_it_drops(start: Start) -> None:
    broker = await start({}, max_mqueue_len=10)
    away = await log_in(broker, "archive north")
    away.send(subscribe(1, ("t/#", 1)))
    await away.packet()
    away.close()
    client = await log_in(broker, "c")
    for number in range(1, 9):
        assert broker.warnings() == []
        client.send(publish("t/1", b"x", qos=1, packet_id=number))
        await client.packet()
    status = broker.status()
    assert status["queued"]["filling"] == 1
    (found,) = warnings_in(status)
    assert found == (
        "The queue of client 'archive north' is 80 % full or more. New messages are dropped when "
        "it is full. Bring the client back, raise [mqtt] max_mqueue_bytes, or end the session: "
        'oncegate ctl drop "archive north".'
    )


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
    (found,) = warnings_in(status)
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
    assert warnings_in(status) == []
    assert status["messages"]["dropped"] == {"queue_full": 3}, "the total stays"


async def test_drops_of_an_hour_are_shown_beside_the_total(start: Start) -> None:
    broker = await start({})
    statistics = broker.running.event_loop.broker.statistics
    statistics.dropped["queue_full"] = 70
    statistics.drop(None, "t", "no_member")
    (found,) = broker.warnings()
    assert found == (
        "1 message was dropped in the last hour, before delivery to any receiver: no_member. "
        "Since the start: 71 in all. See messages.dropped_last_hour in `oncegate ctl status "
        "--json`."
    )


async def test_of_many_clients_with_drops_some_are_named_and_the_others_counted(
    start: Start,
) -> None:
    broker = await start({})
    statistics = broker.running.event_loop.broker.statistics
    for number in range(5):
        statistics.recently_dropped.add("slow_reader", f"c{number}", None, "t")
    warnings = broker.warnings()
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
    (found,) = warnings_in(status)
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
        (None, "publish_not_authorized", "a%b", ["allow", "anonymous", "publish", "a%%b"]),
    ],
)
def test_the_proposed_rule_reads_back_as_what_was_denied(
    username: str | None, reason: str, topic: str, words: list[str]
) -> None:
    entry = Recent(reason, "c")
    entry.username, entry.topic = username, topic
    assert words_of(rule_for(entry)) == words


def test_the_rule_for_a_program_at_the_page_allows_no_other_client() -> None:
    entry = Recent("publish_not_authorized", f"{PAGE_CLIENT_ID}0f3a")
    entry.topic = "house/lamp"
    assert rule_for(entry) == "allow listener @page publish house/lamp"
