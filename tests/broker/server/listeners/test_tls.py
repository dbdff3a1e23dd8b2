"""TLS below MQTT and WebSocket: handshakes, refusals, connection limits and ends."""

import asyncio
import socket
import ssl
import struct

import pytest

from gateway.broker.server.listeners.proxy_header import SIGNATURE
from tests.broker.server.conftest import Start
from tests.broker.server.listeners.tls_site import Site
from tests.peers.mqtt_bytes import PINGREQ, connect, publish, subscribe
from tests.peers.websocket_client import BINARY, frame_of

PLAIN = {"protocol": "mqtt"}
PINGRESP = b"\xd0\x00"
PROXIED = SIGNATURE + bytes.fromhex("2111000c") + bytes([192, 0, 2, 7, 10, 0, 0, 1])
PROXIED += struct.pack(">HH", 40_000, 8883)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("tls") / "ca")


async def test_a_client_publishes_over_tls_to_one_without(start: Start, site: Site) -> None:
    broker = await start({"tls": site.tls()}, PLAIN)
    plain, client = await broker.open(1), await broker.open(0, site.client())
    assert await plain.log_in("a") == 0
    assert await client.log_in("b") == 0
    plain.send(subscribe(1, ("t", 0)))
    await plain.packet()
    client.send(publish("t", b"x"))
    assert await plain.packet() == publish("t", b"x")
    assert [each["protocol"] for each in broker.listeners] == ["mqtts", "mqtt"]


async def test_many_records_and_large_packets_arrive_whole_both_ways(
    start: Start, site: Site
) -> None:
    broker = await start({"tls": site.tls()}, PLAIN)
    client = await broker.open(0, site.client())
    assert await client.log_in("a") == 0
    client.send(subscribe(1, ("t", 0)))
    await client.packet()
    payload = bytes(range(256)) * 4_000  # 63 records
    packet = publish("t", payload)
    client.send(packet)
    assert await client.read(len(packet)) == packet
    client.send(PINGREQ)
    assert await client.packet() == PINGRESP


async def test_websocket_over_tls_is_wss(start: Start, site: Site) -> None:
    broker = await start({"protocol": "websocket", "tls": site.tls()}, PLAIN)
    assert broker.listeners[0] | {"port": 0, "certificate": None} == {
        "protocol": "wss",
        "bind": "127.0.0.1",
        "port": 0,
        "path": "/mqtt",
        "certificate": None,
    }
    client = await broker.open(0, site.client())
    assert await client.connect_in_frames("a") == 0
    client.send(frame_of(BINARY, PINGREQ))
    assert await client.packet_in_frames() == PINGRESP


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_current_versions_and_ciphers_are_spoken_and_alpn_is_answered(
    start: Start, site: Site, version: ssl.TLSVersion
) -> None:
    broker = await start({"tls": site.tls()}, PLAIN)
    context = site.client()
    context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(["other", "mqtt"])
    shown = broker.listeners[0]
    reader, writer = await asyncio.open_connection(
        shown["bind"], shown["port"], ssl=context, server_hostname="gateway"
    )
    spoken: ssl.SSLObject = writer.get_extra_info("ssl_object")
    assert spoken.selected_alpn_protocol() == "mqtt"
    name = (spoken.cipher() or ("",))[0]
    assert "GCM" in name or "CHACHA20" in name
    assert spoken.compression() is None
    writer.write(connect("a"))
    assert (await reader.readexactly(4))[3] == 0
    writer.close()


@pytest.mark.parametrize("maximum", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
async def test_older_versions_are_refused_and_counted(
    start: Start, site: Site, maximum: ssl.TLSVersion
) -> None:
    broker = await start({"tls": site.tls()}, PLAIN)
    context = site.client()
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = maximum
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await broker.open(0, context)
    await broker.eventually(lambda: broker.errors == {"tls_handshake": 1})


async def test_with_min_version_1_3_a_client_of_1_2_is_refused(start: Start, site: Site) -> None:
    broker = await start({"tls": site.tls(min_version="1.3")}, PLAIN)
    context = site.client()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await broker.open(0, context)
    await broker.eventually(lambda: broker.errors == {"tls_handshake": 1})


@pytest.mark.parametrize(
    "sent", [connect("a"), b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff", b"\0" * 5_000]
)
async def test_what_is_no_handshake_ends_the_connection_and_is_counted(
    start: Start, site: Site, sent: bytes
) -> None:
    broker = await start({"tls": site.tls()}, PLAIN)
    client = await broker.open()
    client.send(sent)
    await client.rest()
    assert broker.errors == {"tls_handshake": 1}
    assert broker.status()["connections"]["open"] == 0


async def test_a_client_that_does_not_trust_the_certificate_is_counted(
    start: Start, site: Site
) -> None:
    broker = await start({"tls": site.tls()}, PLAIN)
    shown = broker.listeners[0]

    def shake_hands() -> None:
        # asyncio would not send the alert.
        with socket.create_connection((shown["bind"], shown["port"])) as raw:
            ssl.create_default_context().wrap_socket(raw, server_hostname="gateway")

    with pytest.raises(ssl.SSLCertVerificationError):
        await asyncio.to_thread(shake_hands)
    await broker.eventually(lambda: broker.errors == {"tls_handshake": 1})


# -- timeouts and connection limits


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01\x02\x00\x01"])
async def test_a_handshake_that_does_not_end_is_closed_at_the_connect_timeout(
    start: Start, site: Site, sent: bytes
) -> None:
    broker = await start({"tls": site.tls()}, PLAIN, connect_timeout="100ms")
    client = await broker.open()
    client.send(sent)
    assert await client.rest() == b""
    assert broker.errors == {"connect_timeout": 1}


async def test_half_open_handshakes_give_way_to_a_client_that_connects(
    start: Start, site: Site
) -> None:
    broker = await start({"tls": site.tls(), "max_connections": 2}, PLAIN)
    halves = [await broker.open() for _ in range(2)]
    for half in halves:
        half.send(b"\x16\x03\x01\x02\x00\x01")
    await broker.eventually(lambda: broker.status()["connections"]["open"] == 2)
    late = await broker.open(0, site.client())
    assert await late.log_in("late") == 0
    assert await (await broker.open(1)).log_in("other") == 0, "the other listener has places"
    assert broker.errors == {"silent_connection": 1}


async def test_a_flight_of_handshakes_is_made_in_slices(start: Start, site: Site) -> None:
    broker = await start({"tls": site.tls()}, PLAIN)
    clients = await asyncio.gather(*(broker.open(0, site.client()) for _ in range(40)))
    codes = await asyncio.gather(*(each.log_in(f"c{i}") for i, each in enumerate(clients)))
    assert codes == 40 * [0]


# -- the end of a connection


async def test_the_broker_ends_tls_before_it_closes(start: Start, site: Site) -> None:
    broker = await start({"tls": site.tls()}, PLAIN)
    client = await broker.open(0, site.client())
    assert await client.log_in("a") == 0
    client.send(b"\xff\xff")
    # Without the broker's close_notify the client would report a truncated stream.
    assert await client.rest() == b""


async def test_a_client_that_ends_tls_is_gone(start: Start, site: Site) -> None:
    broker = await start({"tls": site.tls()}, PLAIN)
    client = await broker.open(0, site.client())
    assert await client.log_in("a") == 0
    client.close()
    await broker.eventually(lambda: broker.status()["connections"]["open"] == 0)
    assert broker.errors == {}


async def test_a_record_that_was_changed_on_its_way_ends_the_connection(
    start: Start, site: Site
) -> None:
    broker = await start({"tls": site.tls()}, PLAIN)
    shown = broker.listeners[0]
    with socket.create_connection((shown["bind"], shown["port"])) as raw:
        raw.setblocking(False)
        loop = asyncio.get_running_loop()
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = site.client().wrap_bio(incoming, outgoing, server_hostname="gateway")
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                await loop.sock_sendall(raw, outgoing.read())
                incoming.write(await loop.sock_recv(raw, 65_536))
        tls.write(connect("a"))
        sent = bytearray(outgoing.read())
        sent[-1] ^= 1
        await loop.sock_sendall(raw, sent)
        while await loop.sock_recv(raw, 65_536):
            pass
    assert broker.errors == {"tls_record": 1}


async def test_a_client_that_reads_slowly_is_not_read_from(start: Start, site: Site) -> None:
    broker = await start({"tls": site.tls()}, PLAIN, max_write_buffer="4KiB")
    client = await broker.open(0, site.client())
    assert await client.log_in("a") == 0
    client.send(subscribe(1, ("t", 0)))
    await client.packet()
    packet = publish("t", bytes(100_000))
    for _ in range(100):
        client.send(packet)
    for _ in range(100):
        assert await client.read(len(packet)) == packet
