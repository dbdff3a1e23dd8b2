"""The command `topic_states` at the status socket."""

from typing import Any

import pytest

from gateway.broker.server.control import topic_states
from tests.broker.server.broker import Broker, log_in
from tests.broker.server.conftest import Start
from tests.broker.server.control.test_requests import code, result
from tests.peers.mqtt_bytes import publish, subscribe


async def states(broker: Broker, *topics: str) -> dict[str, Any]:
    answer = await result(broker, "topic_states", topics=[*topics])
    return {each["topic"]: each for each in answer["topics"]}


async def test_a_topic_has_its_whole_retained_payload_and_its_receivers(start: Start) -> None:
    broker = await start({})
    client = await log_in(broker, "home")
    client.send(subscribe(1, ("house/#", 1)))
    await client.packet()
    board = await log_in(broker, "board")
    for topic, payload in (("house/door", b"x" * 1000), ("house/raw", b"\xff")):
        board.send(publish(topic, payload, qos=1, packet_id=1, retain=True))
        await board.packet()
    found = await states(broker, "house/door", "house/raw", "other")
    home = {"receivers": 1, "denied": 0, "clients": ["home"]}
    assert found["house/door"] == {
        "topic": "house/door",
        "is_retained": True,
        "text": "x" * 1000,
        **home,
    }
    assert (found["house/raw"]["is_retained"], found["house/raw"]["text"]) == (True, None)
    unheard = {"receivers": 0, "denied": 0, "clients": []}
    assert found["other"] == {"topic": "other", "is_retained": False, "text": None, **unheard}


async def test_payloads_beyond_the_limit_are_left_out(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_states, "PAYLOAD_BYTES_MAX", 5)
    broker = await start({})
    board = await log_in(broker, "board")
    for topic in ("a", "b"):
        board.send(publish(topic, b"123", qos=1, packet_id=1, retain=True))
        await board.packet()
    found = await states(broker, "a", "b")
    assert (found["a"]["text"], found["b"]["text"]) == ("123", None)
    assert found["b"]["is_retained"] is True


@pytest.mark.parametrize("topics", [None, [], ["a"] * 9, [7], [""], ["a/#"], ["x" * 1025]])
async def test_what_is_no_request_is_refused(start: Start, topics: object) -> None:
    assert await code(await start({}), "topic_states", topics=topics) == "bad_request"
