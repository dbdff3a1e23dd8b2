"""The command `topics` at the status socket."""

from typing import Any

import pytest

from gateway.broker.server.control import topics
from tests.broker.server.broker import Broker, log_in
from tests.broker.server.conftest import Start
from tests.broker.server.control.test_requests import code, result
from tests.peers.mqtt_bytes import publish


async def listed(broker: Broker, **request: Any) -> dict[str, Any]:
    """Return the topics in a response by name, in the order of the response."""
    answer = await result(broker, "topics", **request)
    return {each["topic"]: each for each in answer["topics"]}


async def broker_with(start: Start, *packets: bytes) -> Broker:
    """Start a broker, and wait until it has acknowledged every QoS 1 packet of `packets`."""
    broker = await start({})
    client = await log_in(broker, "attic")
    for packet in packets:
        client.send(packet)
        await client.packet()
    return broker


def message(topic: str, payload: bytes, *, retain: bool = False) -> bytes:
    return publish(topic, payload, qos=1, packet_id=1, retain=retain)


async def test_retained_and_latest_messages_are_listed_once_with_time_and_publisher(
    start: Start,
) -> None:
    broker = await broker_with(
        start,
        message("a/set", b"\xff\x00", retain=True),
        message("a", b"on", retain=True),
        message("a", b"off"),
        message("a-b", b"x" * 1000),
        message("cleared", b"1", retain=True),
        message("cleared", b"", retain=True),
    )
    found = await listed(broker)
    assert list(found) == ["a", "a/set", "a-b"], "a level is followed by those below it"
    retained, latest = found["a"]["retained"], found["a"]["latest"]
    assert (retained["text"], latest["text"]) == ("on", "off")
    assert (latest["client_id"], latest["qos"]) == ("attic", 1)
    assert latest["time_ms"] >= 1_700_000_000_000
    binary = found["a/set"]
    assert binary["latest"] is None, "it is the retained one"
    assert (binary["retained"]["hex"], binary["retained"]["text"]) == ("ff00", None)
    assert binary["retained"]["time_ms"] is not None
    long = found["a-b"]["latest"]
    assert (len(long["text"]), long["bytes"]) == (256, 1000)
    assert list(await listed(broker, retained=True)) == ["a", "a/set"]
    assert list(await listed(broker, below="a")) == ["a", "a/set"]
    assert list(await listed(broker, search="SET")) == ["a/set"]


async def test_topics_come_in_pages_and_in_slices(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topics, "SLICE_TOPICS", 2)
    names = [f"t/{number}" for number in range(7)]
    broker = await broker_with(start, *[message(name, b"1", retain=True) for name in names])
    found: list[str] = []
    after: str | None = ""
    while after is not None:
        page = await result(broker, "topics", limit=3, after=after)
        found += [each["topic"] for each in page["topics"]]
        after = page["next"]
    assert found == names


async def test_a_message_that_came_later_replaces_the_one_before(start: Start) -> None:
    broker = await broker_with(start, message("a", b"1"))
    assert (await listed(broker))["a"]["latest"]["text"] == "1"
    client = await log_in(broker, "cellar")
    client.send(message("a", b"2"))
    await client.packet()
    assert (await listed(broker))["a"]["latest"]["text"] == "2"


async def test_an_answer_is_bounded_in_bytes(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "TOPICS_BYTES_MAX", 500)
    broker = await broker_with(start, *[message(each, b"x" * 200) for each in "abc"])
    page = await result(broker, "topics")
    assert [each["topic"] for each in page["topics"]] == ["a"]
    assert page["next"] == "a"


@pytest.mark.parametrize(
    "request_", [{"limit": 0}, {"limit": True}, {"retained": "yes"}, {"search": 7}, {"after": []}]
)
async def test_what_is_no_request_is_refused(start: Start, request_: dict[str, Any]) -> None:
    assert await code(await start({}), "topics", **request_) == "bad_request"
