"""MQTT over WebSocket: the handshake, and packets in frames."""

import asyncio

import aiomqtt
import pytest

from tests.broker.server.conftest import Start
from tests.peers.mqtt_bytes import (
    PINGREQ,
    Kind,
    connect,
    publish,
    subscribe,
)
from tests.peers.websocket_client import (
    BINARY,
    CONTINUATION,
    PING,
    PONG,
    frame_of,
)

WEBSOCKET = {"protocol": "websocket"}
PLAIN = {"protocol": "mqtt"}
PINGRESP = b"\xd0\x00"


@pytest.mark.statement("MQTT-6.0.0-3", "MQTT-6.0.0-4", "MQTT5-6.0.0-3", "MQTT5-6.0.0-4")
async def test_the_subprotocol_mqtt_is_selected_and_named(start: Start) -> None:
    broker = await start(WEBSOCKET, PLAIN)
    client = await broker.open()
    response = await client.shake_hands(Sec_WebSocket_Protocol="other, mqtt")
    assert response.status == 101
    assert "\r\nsec-websocket-protocol: mqtt\r\n" in response.head
    assert "\r\nsec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=\r\n" in response.head


@pytest.mark.parametrize(
    ("headers", "status", "body"),
    [
        ({"path": "/other"}, 404, "at /mqtt or /ws or /"),
        ({"path": "/mqtt/x"}, 404, "at /mqtt"),
        ({"Sec_WebSocket_Protocol": None}, 400, "'mqtt' has to be offered"),
        ({"Sec_WebSocket_Protocol": "mqttv5"}, 400, "'mqtt' has to be offered"),
        ({"Sec_WebSocket_Version": "8"}, 426, "Only version 13 of WebSocket"),
        ({"Sec_WebSocket_Key": None}, 400, "Sec-WebSocket-Key"),
        ({"Upgrade": "h2c"}, 400, "Upgrade: websocket"),
        ({"Upgrade": None}, 400, "Upgrade"),
        ({"Connection": "close"}, 400, "Connection: Upgrade"),
        ({"Host": None}, 400, "No WebSocket handshake"),
        ({"Host": "\u00e4.example"}, 400, "not ASCII"),
        ({"Connection": "Upgrade, \u00e4"}, 400, "not ASCII"),
        ({"Origin": "https://evil.example"}, 403, "add the origin to 'origins'"),
        ({"Cookie": "x" * 17_000}, 431, "more than 16384 bytes"),
        ({"path": "/ mqtt"}, 400, "Bad HTTP message"),
    ],
)
async def test_a_request_that_is_no_handshake_of_ours_is_refused_with_the_fix(
    start: Start, headers: dict[str, str], status: int, body: str
) -> None:
    broker = await start(WEBSOCKET, PLAIN)
    client = await broker.open()
    response = await client.shake_hands(**headers)
    assert response.status == status
    assert body in response.body
    assert await client.rest() == b""
    reason = "websocket_origin" if status == 403 else "websocket_handshake"
    assert broker.errors == {reason: 1}


async def test_a_client_that_speaks_plain_mqtt_is_refused_and_counted(start: Start) -> None:
    broker = await start(WEBSOCKET, PLAIN)
    client = await broker.open()
    client.send(connect("a"))
    response = await client.response()
    assert response.status == 400
    assert "this port speaks websocket" in response.body.lower()
    assert await client.rest() == b""
    assert broker.errors == {"websocket_handshake": 1}


async def test_a_page_of_a_listed_origin_may_connect(start: Start) -> None:
    listed = WEBSOCKET | {"origins": ["https://Page.example:8443"]}
    broker = await start(listed, PLAIN)
    client = await broker.open()
    assert (await client.shake_hands(Origin="https://page.example:8443")).status == 101


@pytest.mark.statement("MQTT-6.0.0-2", "MQTT5-6.0.0-2")
async def test_packets_are_split_over_frames_and_packed_into_them(start: Start) -> None:
    broker = await start(WEBSOCKET, PLAIN)
    client = await broker.open()
    assert (await client.shake_hands()).status == 101
    packets = connect("a") + subscribe(1, ("t", 0)) + publish("t", b"x") + PINGREQ
    for byte in packets:
        client.send(frame_of(BINARY, bytes([byte])))
    kinds = [(await client.packet_in_frames())[0] >> 4 for _ in range(4)]
    assert kinds == [Kind.CONNACK, Kind.SUBACK, Kind.PUBLISH, Kind.PINGRESP]
    client.send(frame_of(BINARY, publish("t", b"1") + publish("t", b"2") + PINGREQ[:1]))
    assert [await client.packet_in_frames() for _ in "12"] == [
        publish("t", b"1"),
        publish("t", b"2"),
    ]
    client.send(frame_of(BINARY, PINGREQ[1:]))
    assert await client.packet_in_frames() == PINGRESP


async def test_the_network_may_cut_handshake_and_frames_anywhere(start: Start) -> None:
    broker = await start(WEBSOCKET, PLAIN)
    client = await broker.open()
    request = (
        b"GET /mqtt?x=1 HTTP/1.1\r\nhost: 127.0.0.1\r\nupgrade: WebSocket\r\n"
        b"connection: keep-alive, Upgrade\r\nsec-websocket-version: 13\r\n"
        b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: mqtt\r\n\r\n"
    )
    frames = frame_of(BINARY, connect("a")) + frame_of(BINARY, publish("t", b"x" * 200))
    received = broker.running.event_loop.broker.statistics
    for byte in request + frames + frame_of(PING, b"end"):
        client.send(bytes([byte]))
        await asyncio.sleep(0)
    assert (await client.response()).status == 101
    assert await client.packet_in_frames() == b"\x20\x02\x00\x00"
    assert await client.frame() == (PONG, b"end")
    assert received.received_qos0 == 1


async def test_frames_that_come_with_the_handshake_are_taken(start: Start) -> None:
    broker = await start(WEBSOCKET, PLAIN)
    client = await broker.open()
    asked = asyncio.ensure_future(client.shake_hands())
    await asyncio.sleep(0)
    client.send(frame_of(BINARY, connect("a")))
    assert (await asked).status == 101
    assert (await client.packet_in_frames())[3] == 0


async def test_fragments_of_a_message_are_one_stream_with_pings_between_them(start: Start) -> None:
    broker = await start(WEBSOCKET, PLAIN)
    client = await broker.open()
    assert await client.connect_in_frames("a") == 0
    client.send(frame_of(BINARY, PINGREQ[:1], final=False))
    client.send(frame_of(PING, b"1"))
    assert await client.frame() == (PONG, b"1")
    client.send(frame_of(CONTINUATION, b"", final=False) + frame_of(CONTINUATION, PINGREQ[1:]))
    assert await client.packet_in_frames() == PINGRESP


async def test_a_packet_of_300_kb_goes_through_in_one_frame_each_way(start: Start) -> None:
    broker = await start(WEBSOCKET, PLAIN)
    client = await broker.open()
    assert await client.connect_in_frames("a") == 0
    client.send(frame_of(BINARY, subscribe(1, ("t", 0))))
    await client.packet_in_frames()
    packet = publish("t", bytes(range(256)) * 1200)
    client.send(frame_of(BINARY, packet))
    assert await client.frame() == (BINARY, packet)


async def test_thousands_of_empty_frames_are_taken_in_turns(start: Start) -> None:
    broker = await start(WEBSOCKET, PLAIN)
    client, other = await broker.open(), await broker.open(1)
    assert await client.connect_in_frames("a") == 0
    client.send(frame_of(BINARY) * 10_500 + frame_of(BINARY, PINGREQ))
    assert await other.log_in("b") == 0
    assert await client.packet_in_frames() == PINGRESP


async def test_a_slow_reader_over_websocket_is_read_no_more_until_it_catches_up(
    start: Start,
) -> None:
    broker = await start(WEBSOCKET, PLAIN, max_write_buffer="4KiB", max_mqueue_len=1_000)
    client, publisher = await broker.open(), await broker.open(1)
    assert await client.connect_in_frames("slow") == 0
    client.send(frame_of(BINARY, subscribe(1, ("t", 1))))
    await client.packet_in_frames()
    assert await publisher.log_in("publisher") == 0
    payload = b"x" * 100
    for number in range(1, 501):
        publisher.send(publish("t", payload, qos=1, packet_id=number))
    for _ in range(500):
        await publisher.packet()
    for _ in range(500):
        packet = await client.packet_in_frames()
        assert packet.endswith(payload)
        packet_id = packet[5:7]
        client.send(frame_of(BINARY, b"\x40\x02" + packet_id))


async def test_an_independent_client_delivers_qos_2_over_websocket(start: Start) -> None:
    broker = await start(WEBSOCKET, PLAIN)
    shown = broker.listeners[0]
    async with aiomqtt.Client(
        shown["bind"], shown["port"], transport="websockets", websocket_path=shown["path"]
    ) as client:
        await client.subscribe("t/#", qos=2)
        for number in range(20):
            await client.publish("t/x", str(number), qos=2)
        received = []
        async for message in client.messages:
            received.append(bytes(message.payload))
            if len(received) == 20:
                break
    assert received == [str(number).encode() for number in range(20)]
