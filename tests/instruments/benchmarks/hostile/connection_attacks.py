"""Attacks by clients that the broker does not know yet: before, in and around CONNECT."""

import asyncio
import os
from itertools import cycle, islice
from typing import ClassVar, Final

from tests.broker.wire.malformed_connects import CONNECT as CONNECTS
from tests.broker.wire.malformed_vectors import MALFORMED as VECTORS
from tests.instruments.benchmarks.hostile.attack import Attack, Hand, Wire
from tests.instruments.benchmarks.hostile.memory import Allowance
from tests.instruments.benchmarks.hostile.packets import (
    MALFORMED,
    PROXY_SIGNATURE,
    handshake,
    proxy_header,
    unfinished,
)
from tests.peers.mqtt_bytes import connect, publish

PACKET_BYTES: Final = 2 * 2**20 - 32
"""Just below the default of `max_packet_size`."""

ONE: Final = 7
"""The one address from which a storm of connections comes."""

MISTAKES: Final = (
    *((4, packet) for packet in MALFORMED),
    *((vector.version, vector.wire) for vector in VECTORS if vector.sender == "client"),
    # Version 0 means that the packet replaces the CONNECT.
    *((0, vector.wire) for vector in CONNECTS),
)


class Nothing(Attack):
    """The control row. It shows the noise of the instrument and the machine."""

    name = "no attack (control)"
    sentence = "No attack. This row shows how much two calm periods differ on this machine."

    async def run(self, hand: Hand) -> None:
        """Wait."""
        await hand.rest()


class NeverConnect(Attack):
    """Open sockets that send nothing."""

    name = "connections without a CONNECT"
    sentence = "2,000 connections, 1,000 per second, that send nothing after the PROXY header."
    allowance = Allowance(connections=2_000)
    counters = ("connect_timeout",)

    async def run(self, hand: Hand) -> None:
        """Open connections and keep them open."""
        async for _ in hand.paced(1_000, 2_000):
            await hand.stranger()
        await hand.rest()


class ByteByByte(Attack):
    """CONNECT in pieces of one byte."""

    name = "CONNECT sent byte by byte"
    sentence = "200 connections that each send the same CONNECT of 60 bytes, one byte every 40 ms."
    allowance = Allowance(connections=200)
    counters = ("connect_timeout",)

    async def run(self, hand: Hand) -> None:
        """Send one byte on every connection in turn."""
        wires = [wire for _ in range(hand.some(200)) if (wire := await hand.stranger()) is not None]
        packet = connect("slow".ljust(46, "w"))
        async for number in hand.paced(25, len(packet)):
            for wire in wires:
                wire.send(packet[number : number + 1])


class PartialPackets(Attack):
    """Unfinished packets that fill the decoders to the largest packet size."""

    name = "incomplete PUBLISH packets"
    sentence = "32 clients that each send a PUBLISH of 2 MiB without its last byte."
    allowance = Allowance(connections=32, bounds=("incomplete packets",))

    async def run(self, hand: Hand) -> None:
        """Send packets without their last byte, and wait."""
        packet = unfinished(publish("attack/partial", bytes(PACKET_BYTES)))
        wires = []
        async for number in hand.paced(32, 32):
            wire = await hand.client(f"partial{number}")
            wire.send(packet)
            wires.append(wire)
        await hand.rest()


class PartialConnects(Attack):
    """Unfinished CONNECT packets, before any authentication."""

    name = "incomplete CONNECT packets"
    sentence = "200 connections, 100 per second, that each send 195 kB of a CONNECT of 327 kB."
    allowance = Allowance(connections=200, bounds=("incomplete packets",))
    counters = ("connect_timeout",)

    async def run(self, hand: Hand) -> None:
        """Send packets without their end, and wait."""
        field = "x" * 65_000
        whole = connect(field, username=field, password=field.encode())
        async for _ in hand.paced(100, 200):
            wire = await hand.stranger()
            if wire is not None:
                # This is the remaining length of a packet with five such fields.
                wire.send(b"\x10\x8f\xfb\x13" + whole[4:])
        await hand.rest()


class MalformedStorm(Attack):
    """Malformed packets of every kind."""

    name = "malformed packets"
    sentence = (
        f"200 connections per second, each with one of {len(MISTAKES)} malformed packets of MQTT "
        "3.1, 3.1.1 or 5.0, including those of the decoder's tests."
    )
    allowance = Allowance(connections=200)
    counters = ("field_truncated",)

    async def run(self, hand: Hand) -> None:
        """Connect, send one malformed packet, and let the broker close."""
        mistakes = cycle(MISTAKES)
        async for number in hand.paced(200):
            wire = await hand.stranger()
            if wire is not None:
                version, packet = next(mistakes)
                first = connect(f"malformed{number % 64}", level=version) if version else b""
                wire.send(first + packet)


class WebSocketHosts(Attack):
    """Host headers that take long to parse."""

    name = "invalid Host headers"
    sentence = (
        "20 WebSocket handshakes per second with a Host header of 15 kB (IDNA names, an IPv6 "
        "address, a port number) or an empty one. The Origin header repeats the beginning of the "
        "Host header."
    )
    allowance = Allowance(connections=64)
    counters = ("websocket_handshake",)
    hosts: ClassVar[tuple[bytes, ...]] = (
        b"xn--" + b"a" * 15_000,
        "ä".encode().join([b"x"] * 5_000),
        b".".join([b"xn--9ca"] * 1_800),
        b"a." * 7_500,
        b"[" + b":" * 15_000,
        b"localhost:" + b"9" * 15_000,
        b"%00\\@" * 3_000,
        b"",
    )

    async def run(self, hand: Hand) -> None:
        """Send handshakes without waiting for their responses."""
        hosts = cycle(self.hosts)
        async for _ in hand.paced(20):
            host = next(hosts)
            wire = await hand.open(hand.target.websocket_port)
            if wire is not None:
                wire.send(handshake(host, origin=b"http://" + host[:1_000]))


class ProxyHeaders(Attack):
    """Invalid and forged headers of the PROXY protocol."""

    name = "invalid and forged PROXY headers"
    sentence = (
        "200 connections per second to a listener with the PROXY protocol. Their headers are "
        "incomplete, invalid, forged, 4 to 5 kB long, or contain a path that is not UTF-8."
    )
    allowance = Allowance(connections=700)
    counters = ("proxy_header",)

    async def run(self, hand: Hand) -> None:
        """Send one header on each connection, and keep the connection open."""
        whole = proxy_header(b"\xff\xfe\x01/\x9b[31m")
        headers = cycle(
            [
                whole[:-1],
                PROXY_SIGNATURE,
                PROXY_SIGNATURE + b"\x21\x11\xff\xff",
                PROXY_SIGNATURE + b"\x21\x31\x0f\xf0" + bytes(4_000),
                PROXY_SIGNATURE + b"\x29\x77\x00\x00",
                b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n",
                b"PROXY TCP4 198.51.100.7 192.0.2.1 40000 18",
                b"PROXY TCP4 198.51.100.777 192.0.2.1 40000 1883\r\n",
                b"PROXY TCP6 198.51.100.7 ::1 99999 -1\r\n",
                b"PROXY " + b"x" * 5_000,
                PROXY_SIGNATURE + b"\x21\x11\x00\x0c" + bytes(11),
                PROXY_SIGNATURE + b"\x21\x11\x00\x0f" + bytes(12) + b"\x20\xff\xff",
                connect("no-proxy"),
                whole + connect("proxied"),
                whole + unfinished(connect("proxied")),
            ]
        )
        async for _ in hand.paced(200):
            wire = await hand.open(hand.target.proxy_port)
            if wire is not None:
                wire.send(next(headers))


class UnixNames(Attack):
    """Clients of the Unix socket that have bound unusual names."""

    name = "Unix sockets with names that are not UTF-8"
    sentence = (
        "50 connections per second to the Unix socket, from abstract names and paths that are not "
        "UTF-8, and from sockets without a name. Every second one sends an invalid packet instead "
        "of a CONNECT."
    )
    allowance = Allowance(connections=200)
    counters = ("unexpected_packet",)

    async def run(self, hand: Hand) -> None:
        """Connect from sockets with abstract names, paths and no name, alternately."""
        folder = os.fsencode(os.path.dirname(hand.target.unix_path))
        made: list[bytes] = []
        try:
            async for number in hand.paced(50):
                end = b"\xff\xfe\x9b%d" % number
                path = os.path.join(folder, end)
                name = (b"\0" + os.urandom(8) + end, path, None)[number % 3]
                if name == path:
                    made.append(path)
                wire = await hand.open_unix(name)
                if wire is not None:
                    wire.send(connect(f"unix{number}") if number % 2 else b"\xff")
        finally:
            for path in made:
                os.unlink(path)


class ConnectStorm(Attack):
    """Short connections at a high rate."""

    name = "short-lived connections"
    sentence = (
        "1,500 connections from one address, 500 per second. Each is aborted almost immediately, "
        "half of them after a CONNECT."
    )
    allowance = Allowance(connections=500)
    counters = ("max_connection_rate_per_address",)

    async def run(self, hand: Hand) -> None:
        """Open connections, and cut all but the last ten."""
        ended: list[Wire] = []
        async for number in hand.paced(500, 1_500, whole=True):
            wire = await hand.stranger(address=ONE)
            if wire is None:
                continue
            if number % 2:
                wire.send(connect(f"gone{number % 100}"))
            ended.append(wire)
            for old in islice(ended, max(0, len(ended) - 10)):
                old.cut()
            del ended[: max(0, len(ended) - 10)]
            await asyncio.sleep(0)


class SlowUpgrades(Attack):
    """WebSocket handshakes that never end."""

    name = "WebSocket handshakes sent byte by byte"
    sentence = "100 connections that each send a WebSocket handshake, one byte every 100 ms."
    allowance = Allowance(connections=100)
    counters = ("connect_timeout",)

    async def run(self, hand: Hand) -> None:
        """Send one byte on every connection in turn."""
        opened = [await hand.open(hand.target.websocket_port) for _ in range(hand.some(100))]
        request = handshake(b"localhost")
        async for number in hand.paced(10, len(request), whole=True):
            for wire in opened:
                if wire is not None:
                    wire.send(request[number : number + 1])


class IdleHoard(Attack):
    """Idle connections from one address, which use up its allowed number."""

    name = "idle clients from one address"
    sentence = "700 idle clients from one address, 300 per second, with keep-alive 0."
    allowance = Allowance(connections=700)
    counters = ("max_connections_per_address",)

    async def run(self, hand: Hand) -> None:
        """Connect and stay."""
        async for number in hand.paced(300, 700, whole=True):
            wire = await hand.stranger(address=ONE + 1)
            if wire is not None:
                wire.send(connect(f"idle{number}"))
        await hand.rest()
