"""TLS behind a proxy, and with common client libraries and programs."""

import asyncio
import shutil
import socket
import ssl
import struct
import subprocess
from typing import Literal

import gmqtt  # type: ignore[import-untyped]
import paho.mqtt.publish as paho_publish
import pytest

from gateway.broker.server.listeners.proxy_header import SIGNATURE
from tests.broker.server.conftest import Start
from tests.broker.server.listeners.tls_site import Site, shake_hands
from tests.peers.mqtt_bytes import connect, publish, subscribe

PLAIN = {"protocol": "mqtt"}
PINGRESP = b"\xd0\x00"
PROXIED = SIGNATURE + bytes.fromhex("2111000c") + bytes([192, 0, 2, 7, 10, 0, 0, 1])
PROXIED += struct.pack(">HH", 40_000, 8883)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("tls") / "ca")


async def test_the_proxy_header_comes_before_tls(start: Start, site: Site) -> None:
    proxied = {"proxy_protocol": True, "allow_anonymous_network": True}
    broker = await start({"tls": site.tls()} | proxied, PLAIN)
    shown = broker.listeners[0]
    for pieces in (1, 7):
        raw = socket.create_connection((shown["bind"], shown["port"]))
        raw.setblocking(False)
        loop = asyncio.get_running_loop()
        for start_at in range(0, len(PROXIED), len(PROXIED) // pieces):
            await loop.sock_sendall(raw, PROXIED[start_at : start_at + len(PROXIED) // pieces])
            await asyncio.sleep(0)
        reader, writer = await asyncio.open_connection(
            sock=raw, ssl=site.client(), server_hostname="gateway"
        )
        writer.write(connect(f"c{pieces}"))
        assert (await reader.readexactly(4))[3] == 0
        assert set(broker.addresses()) == {"192.0.2.7:40000"}
        writer.close()


async def test_the_header_and_the_client_hello_may_come_in_one_read(
    start: Start, site: Site
) -> None:
    proxied = {"proxy_protocol": True, "allow_anonymous_network": True}
    broker = await start({"tls": site.tls()} | proxied, PLAIN)
    shown = broker.listeners[0]
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = site.client().wrap_bio(incoming, outgoing, server_hostname="gateway")
    reader, writer = await asyncio.open_connection(shown["bind"], shown["port"])
    await shake_hands(tls, incoming, outgoing, reader, writer, before=PROXIED)
    tls.write(connect("a"))
    writer.write(outgoing.read())
    await broker.eventually(lambda: broker.addresses() == ["192.0.2.7:40000"])
    writer.close()


async def test_gmqtt_publishes_over_tls_at_qos_2(start: Start, site: Site) -> None:
    broker = await start({"tls": site.mutual()}, PLAIN)
    watcher = await broker.open(1)
    assert await watcher.log_in("watcher") == 0
    watcher.send(subscribe(1, ("t", 0)))
    await watcher.packet()
    client = gmqtt.Client("roof-station")
    await client.connect("localhost", broker.listeners[0]["port"], ssl=site.client("cellar"))
    client.publish("t", b"x", qos=2)
    assert await watcher.packet() == publish("t", b"x")
    await client.disconnect()


@pytest.mark.parametrize("transport", ["tcp", "websockets"])
async def test_paho_publishes_over_tls_and_wss(
    start: Start, site: Site, transport: Literal["tcp", "websockets"]
) -> None:
    protocol = "mqtt" if transport == "tcp" else "websocket"
    broker = await start({"tls": site.tls(), "protocol": protocol}, PLAIN)
    watcher = await broker.open(1)
    assert await watcher.log_in("watcher") == 0
    watcher.send(subscribe(1, ("t", 0)))
    await watcher.packet()
    port = broker.listeners[0]["port"]
    await asyncio.to_thread(
        paho_publish.single,
        "t",
        b"x",
        qos=1,
        hostname="localhost",
        port=port,
        tls={"ca_certs": str(site.authority.ca)},
        transport=transport,
    )
    assert await watcher.packet() == publish("t", b"x")


@pytest.mark.parametrize("name", [None, "cellar"])
async def test_mosquitto_pub_publishes_over_tls(start: Start, site: Site, name: str | None) -> None:
    program = shutil.which("mosquitto_pub")
    assert program is not None, "make packages-test installs mosquitto-clients"
    broker = await start({"tls": site.tls() if name is None else site.mutual()}, PLAIN)
    watcher = await broker.open(1)
    assert await watcher.log_in("watcher") == 0
    watcher.send(subscribe(1, ("t", 0)))
    await watcher.packet()
    options = ["--cafile", site.authority.ca, "-p", broker.listeners[0]["port"]]
    if name is not None:
        certificate, key = site.clients[name]
        options += ["--cert", certificate, "--key", key]
    done = await asyncio.to_thread(
        subprocess.run,
        [program, "-h", "localhost", *map(str, options), "-t", "t", "-m", "x", "-q", "2"],
        check=False,
        capture_output=True,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    assert await watcher.packet() == publish("t", b"x")
