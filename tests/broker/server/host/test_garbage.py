"""Ordinary operation leaves no reference cycle for the garbage collector."""

import gc
from pathlib import Path
from types import FrameType

import pytest

from gateway.broker.access.passwords.file import set_password
from tests.broker.access.scram_client import ScramClient
from tests.broker.server.broker import Broker
from tests.broker.server.conftest import Start
from tests.broker.server.listeners.tls_site import Site
from tests.peers.mqtt_bytes import DISCONNECT, PINGREQ, connect, publish, subscribe

MISTAKE = b"\xff\xff"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("tls") / "ca")


async def come_and_go(
    broker: Broker, protocol: str, goodbye: bytes, site: Site | None = None
) -> None:
    """Connect, receive a message, send the bytes of `goodbye`, and close the connection."""
    client = await broker.open(1, None if site is None else site.client())
    if protocol == "websocket":
        await client.connect_in_frames("client")
        client.abort()
        return
    await client.log_in("client")
    client.send(subscribe(1, ("t", 1)) + publish("t", b"x", qos=1, packet_id=1) + PINGREQ)
    await client.read(5 + 4 + 2)
    client.send(goodbye)
    if goodbye:
        await client.rest()
    client.abort()


def is_ours(found: object) -> bool:
    """Return True for an object of the broker, or a frame of one of its functions."""
    if isinstance(found, FrameType):
        return str(found.f_globals.get("__name__")).startswith("gateway.")
    return type(found).__module__.startswith("gateway.")


def cycles_of_ours() -> list[str]:
    """Return the broker's objects and frames that only the garbage collector would free."""
    gc.unfreeze()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        return [repr(each) for each in gc.garbage if is_ours(each)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


@pytest.mark.parametrize(
    ("protocol", "goodbye"),
    [("mqtt", DISCONNECT), ("mqtt", MISTAKE), ("mqtt", b""), ("websocket", b"")],
    ids=["DISCONNECT", "mistake", "cut", "websocket"],
)
async def test_connections_that_are_over_leave_nothing_for_the_garbage_collector(
    start: Start, protocol: str, goodbye: bytes
) -> None:
    broker = await start({}, {"protocol": protocol})
    gc.unfreeze()
    gc.collect()
    for _ in range(20):
        await come_and_go(broker, protocol, goodbye)
    await broker.eventually(lambda: not broker.running.event_loop.channels)
    assert cycles_of_ours() == []


@pytest.mark.parametrize(
    "goodbye", [DISCONNECT, MISTAKE, b""], ids=["DISCONNECT", "mistake", "cut"]
)
async def test_neither_do_connections_with_tls_nor_what_is_read_from_them(
    start: Start, site: Site, goodbye: bytes
) -> None:
    broker = await start({}, {"protocol": "mqtt", "tls": site.tls()})
    await come_and_go(broker, "mqtt", goodbye, site)  # modules that are imported now leave cycles
    gc.unfreeze()
    gc.collect()
    for _ in range(20):
        await come_and_go(broker, "mqtt", goodbye, site)
    await broker.eventually(lambda: not broker.running.event_loop.channels)
    assert cycles_of_ours() == []


async def test_neither_do_logins_that_are_refused_or_given_up(start: Start, tmp_path: Path) -> None:
    users = tmp_path / "users"
    set_password(users, "anna", b"secret", scram_iterations=4_096)
    broker = await start({"anonymous": False}, users=users)
    gc.unfreeze()
    gc.collect()
    for number in range(4):
        client = await broker.open()
        client.send(connect(f"c{number}", username="anna", password=b"wrong"))
        if number % 2:
            await client.rest()
        client.abort()
        packets = await broker.open_packets()
        packets.connect(ScramClient("anna", "secret", "nonce").first(), client_id=f"s{number}")
        await packets.challenge()
        packets.cut()
    await broker.eventually(lambda: not broker.running.event_loop.channels)
    await broker.eventually(lambda: not broker.running.event_loop.authentications.checks.waiting)
    assert cycles_of_ours() == []
