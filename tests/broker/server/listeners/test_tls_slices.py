"""TLS records of one client are decrypted in slices: other clients are served in between."""

import asyncio
import ssl

import pytest

from gateway.broker.server.listeners import tls as tls_module
from gateway.broker.server.listeners.stream import MqttProtocol
from gateway.broker.server.listeners.tls import TlsLayer
from tests.broker.server.conftest import Start
from tests.broker.server.listeners.tls_site import Site, shake_hands
from tests.peers.mqtt_bytes import connect, publish, subscribe

PLAIN = {"protocol": "mqtt"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("tls") / "ca")


async def test_while_one_client_sends_tiny_records_the_others_are_answered(
    start: Start, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = await start({"tls": site.tls()}, PLAIN)
    shown = broker.listeners[0]
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = site.client().wrap_bio(incoming, outgoing, server_hostname="gateway")
    reader, writer = await asyncio.open_connection(shown["bind"], shown["port"])
    await shake_hands(tls, incoming, outgoing, reader, writer)
    packets = connect("a") + subscribe(1, ("t", 0)) + 400 * publish("t", b"x" * 50)
    for byte in packets:
        tls.write(bytes([byte]))
    turns = 0
    go_on = TlsLayer._continue

    def counted(layer: TlsLayer) -> None:
        nonlocal turns
        turns += 1
        go_on(layer)

    monkeypatch.setattr(TlsLayer, "_continue", counted)
    monkeypatch.setattr(tls_module, "SLICE_SECONDS", 0.0)
    writer.write(outgoing.read())
    received = b""
    while len(received) < len(packets) - len(connect("a")) - 3:
        incoming.write(await reader.read(65_536))
        try:
            while part := tls.read(65_536):
                received += part
        except ssl.SSLWantReadError:
            continue
    assert received.count(publish("t", b"x" * 50)) == 400
    assert turns > 10
    writer.close()


async def test_what_was_read_waits_undecrypted_while_the_protocol_wants_nothing(
    start: Start, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = await (await start({"tls": site.tls()}, PLAIN)).open(0, site.client())
    assert await client.log_in("a") == 0
    given: list[MqttProtocol] = []

    def pause(protocol: MqttProtocol, _: bytes) -> None:
        given.append(protocol)
        protocol.transport.pause_reading()

    monkeypatch.setattr(tls_module, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(MqttProtocol, "data_received", pause)
    client.send(bytes(200_000))
    for count in (1, 2, 3, 4):
        async with asyncio.timeout(60):
            while len(given) < count:  # noqa: ASYNC110 - nothing to wait for
                await asyncio.sleep(0.001)
        await asyncio.sleep(0.05)
        assert len(given) == count
        given[0].transport.resume_reading()
