"""The command `events` at the status socket."""

from typing import Any

import pytest

from gateway.broker.server.commit.recent_blobs import RecentBlobs
from gateway.broker.server.control import events
from gateway.broker.server.control.events import EventCommands
from tests.broker.server.broker import Broker, log_in
from tests.broker.server.conftest import Start
from tests.broker.server.control.test_requests import code, result
from tests.peers.mqtt_bytes import Kind, acknowledgement, publish, subscribe
from tests.peers.websocket_client import WebSocketClient


async def listed(broker: Broker, **request: Any) -> list[dict[str, Any]]:
    """Return the events that a request lists, the oldest first."""
    found: list[dict[str, Any]] = (await result(broker, "events", **request))["events"]
    return found[::-1]


def names(found: list[dict[str, Any]]) -> list[str]:
    return [each["event"] for each in found]


async def exactly_once(client: WebSocketClient, packet_id: int) -> None:
    """Publish one message at QoS 2 with the whole handshake."""
    client.send(publish("sensors/attic", b"21.5", qos=2, packet_id=packet_id))
    await client.packet()
    client.send(acknowledgement(Kind.PUBREL, packet_id))
    await client.packet()


async def test_a_handshake_is_listed_step_by_step_with_the_topic_and_the_payloads_size(
    start: Start,
) -> None:
    broker = await start({})
    client = await log_in(broker, "attic")
    await exactly_once(client, 7)
    found = await listed(broker, client_id="attic")
    assert names(found) == ["session_opened", "message_held", "message_released"]
    _, held, released = found
    assert (held["packet_id"], held["topic"], held["payload_bytes"]) == (7, "sensors/attic", 4)
    assert "payload" not in held
    assert released["topic"] == "sensors/attic", "the event has the message's number only"
    assert released["sequence"] == held["sequence"] + 1


async def test_a_delivery_has_the_topic_of_another_clients_message(start: Start) -> None:
    broker = await start({})
    receiver = await log_in(broker, "receiver")
    receiver.send(subscribe(1, ("sensors/#", 2)))
    await receiver.packet()
    await exactly_once(await log_in(broker, "attic"), 7)
    await receiver.packet()
    (started,) = await listed(broker, client_id="receiver", names=["delivery_started"])
    assert (started["topic"], started["qos"]) == ("sensors/attic", 2)


async def test_events_come_in_pages_and_from_a_number_on(start: Start) -> None:
    broker = await start({})
    client = await log_in(broker, "attic")
    for packet_id in range(1, 6):
        await exactly_once(client, packet_id)
    whole = await listed(broker)
    first = await result(broker, "events", limit=4)
    assert first["events"] == whole[:-5:-1]
    rest = await result(broker, "events", limit=1000, before=first["next"])
    assert rest == {"events": whole[-5::-1], "next": None}
    newer = await listed(broker, after=whole[-3]["sequence"])
    assert newer == whole[-2:]
    assert await listed(broker, after=whole[-1]["sequence"]) == []


async def test_events_of_a_serial_port_are_found_by_its_name(start: Start) -> None:
    broker = await start({})
    for port in ("meter", "gps"):
        await result(broker, "observe", event="serial_port_lost", port=port, detail="unplugged")
    await exactly_once(await log_in(broker, "attic"), 1)  # commits the other events, too
    (lost,) = await listed(broker, port="gps")
    assert (lost["event"], lost["detail"]) == ("serial_port_lost", "unplugged")


async def test_an_answer_that_would_be_too_long_ends_earlier(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = await start({})
    client = await log_in(broker, "attic")
    for packet_id in range(1, 6):
        await exactly_once(client, packet_id)
    monkeypatch.setattr(events, "EVENTS_BYTES_MAX", 700)
    monkeypatch.setattr(events, "SLICE_BYTES", 1)
    whole: list[dict[str, Any]] = []
    before: int | None = None
    for _ in range(20):
        page = await result(broker, "events", before=before)
        assert 1 <= len(page["events"]) <= 6
        whole += page["events"]
        before = page["next"]
        if before is None:
            break
    assert [each["sequence"] for each in whole] == list(range(len(whole), 0, -1))


async def test_a_long_topic_is_shortened(start: Start) -> None:
    broker = await start({})
    client = await log_in(broker, "attic")
    client.send(publish("t" * 5_000, b"x", qos=1, packet_id=1))
    await client.packet()
    (published,) = await listed(broker, names=["message_published"])
    assert published["topic"] == "t" * events.TEXT_CHARACTERS_MAX


async def test_a_damaged_blob_is_left_out() -> None:
    recent = RecentBlobs()
    recent.add(b"no blob")
    assert await EventCommands(recent).listed({}) == {"events": [], "next": None}


@pytest.mark.parametrize(
    "request_",
    [
        {"limit": 0},
        {"limit": 1_001},
        {"limit": True},
        {"after": -1},
        {"before": "7"},
        {"client_id": 7},
        {"port": 7},
        {"names": "message_held"},
        {"names": ["x"] * 51},
    ],
)
async def test_a_request_that_is_not_as_documented_is_refused(
    start: Start, request_: dict[str, Any]
) -> None:
    assert await code(await start({}), "events", **request_) == "bad_request"
