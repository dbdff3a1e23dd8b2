"""Attacks on TLS: before, in and after its handshake."""

import asyncio
import contextlib
import ssl
from itertools import cycle
from typing import Final

from tests.instruments.benchmarks.hostile.attack import Attack, Hand, Wire
from tests.instruments.benchmarks.hostile.memory import Allowance
from tests.peers.mqtt_bytes import connect

DRIP_SECONDS: Final = 0.1
OPENSSL_SECONDS: Final = 5.0

RUBBISH: Final = (
    b"GET / HTTP/1.1\r\nHost: gateway\r\n\r\n",
    connect("no-tls"),
    bytes(range(256)),
    b"\x16\x03\x01\xff\xff" + bytes(16_384),  # a record longer than the maximum
    b"\x16\x03\x00\x00\x04\x01\x00\x00\x00",  # SSL 3
    b"\x16\x03\x01\x00\x04\x01\xff\xff\xff",  # a ClientHello of 16 MB
    b"\x15\x03\x03\x00\x02\x02\x28",  # an alert
    b"\x17\x03\x03\x00\x10" + bytes(16),  # data before a handshake
    b"\x80\x2e\x01\x00\x02" + bytes(43),  # SSL 2
)
RECORDS: Final = (
    b"\x17\x03\x03\xff\xff" + bytes(20_000),  # longer than the maximum
    b"\x17\x03\x03\x00\x20" + bytes(32),  # not encrypted with the key
    b"\x16\x03\x03\x00\x04\x01\x00\x00\x00",  # another handshake, unencrypted
    b"\x99\x99\x99\x99\x99",
)


class Client:
    """A client's end of TLS whose every byte passes through the attack."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._incoming, self._outgoing)

    def hello(self) -> bytes:
        """Return the bytes that begin a handshake."""
        with contextlib.suppress(ssl.SSLWantReadError):
            self.tls.do_handshake()
        return self._outgoing.read()

    async def shake_hands(self, wire: Wire) -> bool:
        """Do the handshake. Return True if it succeeds for the client."""
        wire.received = bytearray()
        wire.send(self.hello())
        while not wire.closed.is_set():
            await wire.answer()
            self._incoming.write(bytes(wire.received))
            wire.received.clear()
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                wire.send(self._outgoing.read())
                continue
            except ssl.SSLError:
                return False
            wire.send(self._outgoing.read())
            return True
        return False

    def records_of(self, data: bytes) -> bytes:
        """Return a separate record for each byte."""
        for place in range(len(data)):
            self.tls.write(data[place : place + 1])
        return self._outgoing.read()


def trusting(version: ssl.TLSVersion | None = None) -> ssl.SSLContext:
    """Return a context that accepts any server, and only speaks `version` if given."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if version is not None:
        context.minimum_version = context.maximum_version = version
    return context


class OpenHandshakes(Attack):
    """TLS handshakes that never end."""

    name = "incomplete TLS handshakes"
    sentence = (
        "100 TLS connections per second. A third stop after the ClientHello, a third stop in the "
        "middle of it, and a third send it one byte every 100 ms."
    )
    allowance = Allowance(connections=2_000, handshakes=1_000)
    counters = ("connect_timeout",)

    async def run(self, hand: Hand) -> None:
        """Send the whole beginning of a handshake, half of it, or single bytes."""
        hello = Client(trusting()).hello()
        dripping: dict[Wire, int] = {}
        drip = asyncio.create_task(self._drip(hello, dripping))
        try:
            async for number in hand.paced(100):
                wire = await hand.open(hand.target.tls_port)
                if wire is None:
                    continue
                if number % 3 == 2:
                    dripping[wire] = 0
                else:
                    wire.send(hello[: len(hello) // (1 + number % 3)])
        finally:
            drip.cancel()

    async def _drip(self, hello: bytes, sent: dict[Wire, int]) -> None:
        while True:
            for wire, place in sent.items():
                wire.send(hello[place : place + 1])
                sent[wire] = place + 1
            await asyncio.sleep(DRIP_SECONDS)


class NoTls(Attack):
    """Bytes that are not a TLS handshake."""

    name = "garbage instead of TLS"
    sentence = (
        "100 connections per second to a TLS listener that send something other than a TLS "
        "handshake: HTTP, MQTT, SSL 2 or 3, or records with an impossible length."
    )
    allowance = Allowance(connections=200)
    counters = ("tls_handshake",)

    async def run(self, hand: Hand) -> None:
        """Send one of the byte strings on each connection."""
        pieces = cycle(RUBBISH)
        async for _ in hand.paced(100):
            wire = await hand.open(hand.target.tls_port)
            if wire is not None:
                wire.send(next(pieces))


class WrongRecords(Attack):
    """Complete handshakes, followed by records that cannot be decrypted."""

    name = "invalid TLS records"
    sentence = (
        "20 TLS handshakes per second, each followed by a record that is too long, not encrypted "
        "with the key of the session, or of an unknown type."
    )
    allowance = Allowance(connections=100, handshakes=100)
    counters = ("tls_record",)

    async def run(self, hand: Hand) -> None:
        """Do the handshake, and send one record."""
        context = trusting()
        records = cycle(RECORDS)
        async for _ in hand.paced(20):
            wire = await hand.open(hand.target.tls_port)
            if wire is not None and await Client(context).shake_hands(wire):
                wire.send(next(records))


class Renegotiation(Attack):
    """A client that requests renegotiation or new keys."""

    name = "TLS renegotiation"
    sentence = (
        "2 runs of `openssl s_client` per second that request renegotiation (TLS 1.2) or new keys "
        "(TLS 1.3)."
    )
    allowance = Allowance(connections=20, handshakes=20)
    counters = ("renegotiation refused",)

    async def run(self, hand: Hand) -> None:
        """Start one client after the other."""
        async with asyncio.TaskGroup() as clients:
            async for number in hand.paced(2):
                wanted = ("-tls1_2", b"R\n") if number % 2 == 0 else ("-tls1_3", b"K\nK\nK\n")
                clients.create_task(self._ask(hand, *wanted))

    async def _ask(self, hand: Hand, version: str, keys: bytes) -> None:
        address = f"127.0.0.1:{hand.target.tls_port}"
        process = await asyncio.create_subprocess_exec(
            *("openssl", "s_client", "-connect", address, version),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        hand.connections += 1
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            async with asyncio.timeout(OPENSSL_SECONDS):
                # openssl takes commands only after its handshake.
                await process.stderr.readuntil(b"verify")
                process.stdin.write(keys)
                said = await process.stderr.read()
                hand.answers["renegotiation refused"] += b"no renegotiation" in said
        except (TimeoutError, OSError, asyncio.IncompleteReadError):
            pass
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


class CertificateRubbish(Attack):
    """Self-signed certificates, missing ones, and bytes that are not a certificate."""

    name = "invalid client certificates"
    sentence = (
        "20 connections per second to a listener that requires client certificates. They present "
        "no certificate, a self-signed one, or 16 kB that are not a certificate."
    )
    allowance = Allowance(connections=100, handshakes=100)
    counters = ("tls_client_certificate",)

    async def run(self, hand: Hand) -> None:
        """Present one on each connection."""
        own = trusting()
        own.load_cert_chain(
            f"{hand.target.folder}/stranger.pem", f"{hand.target.folder}/stranger.key"
        )
        contexts = (own, trusting())
        async for number in hand.paced(20):
            wire = await hand.open(hand.target.certificates_port)
            if wire is None:
                continue
            if number % 3 == 2:
                wire.send(Client(trusting(ssl.TLSVersion.TLSv1_2)).hello())
                await wire.answer()
                wire.send(certificate_message(b"\x30\x82\xff\xff" + bytes(16_000)))
            else:
                await Client(contexts[number % 3]).shake_hands(wire)


def certificate_message(content: bytes) -> bytes:
    """Return a Certificate message with this content. TLS 1.2 sends it unencrypted."""
    chain = len(content).to_bytes(3, "big") + content
    body = len(chain).to_bytes(3, "big") + chain
    message = b"\x0b" + len(body).to_bytes(3, "big") + body
    return b"\x16\x03\x03" + len(message).to_bytes(2, "big") + message


class TinyRecords(Attack):
    """TLS records of one byte."""

    name = "TLS records of one byte"
    sentence = (
        "4 TLS clients that each send a CONNECT that never ends, in 500 records of one byte per "
        "second."
    )
    allowance = Allowance(connections=4, handshakes=4)
    counters = ("connect_timeout",)

    async def run(self, hand: Hand) -> None:
        """Encrypt and send single bytes."""
        context = trusting()
        clients: list[tuple[Wire, Client]] = []
        for _ in range(4):
            wire, client = await hand.open(hand.target.tls_port), Client(context)
            if wire is not None and await client.shake_hands(wire):
                wire.send(client.records_of(b"\x10\xff\xff\x0f"))
                clients.append((wire, client))
        async for _ in hand.paced(20):
            for wire, client in clients:
                wire.send(client.records_of(bytes(25)))
