"""A client that takes every step by hand: only what a test does happens.

`ByteClient` writes the bytes that a test passes and acknowledges nothing by itself. So a test can
withhold a PUBACK, send a PUBLISH without its PUBREL, cut the connection between any two packets and
reconnect. For tests of other subjects, methods such as `deliver` and `take` perform all the steps
that a well-behaved client takes together. Packets are built and read by `mqtt_bytes`: no code of
the product is used here. Every wait has a deadline, and its failure shows what was expected and
what had arrived.
"""

import asyncio
import contextlib
from collections.abc import Callable

from tests.peers import mqtt_bytes
from tests.peers.connection import DEADLINE_SECONDS, Connection
from tests.peers.mqtt_bytes import Kind, Received, Will, length_of


class ConnectionEnded(Exception):
    """The broker closed the connection while a packet was awaited."""


class ByteClient(Connection):
    """One connection to a broker."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        super().__init__(reader, writer)
        self._waiting: list[Received] = []
        self._last_packet_id = 0
        self.session_present = False

    # What a test sends

    def send(self, data: bytes) -> None:
        """Send bytes unchanged, without waiting until the socket has accepted them."""
        self._writer.write(data)

    async def send_all(self, data: bytes) -> None:
        """Send bytes, and wait until the socket has accepted nearly all of them.

        A lost connection is not reported here, but by the next method that awaits something.
        """
        with contextlib.suppress(ConnectionError):
            self._writer.write(data)
            async with asyncio.timeout(DEADLINE_SECONDS):
                await self._writer.drain()

    async def publish(
        self,
        topic: str,
        payload: bytes,
        *,
        qos: int = 0,
        packet_id: int | None = None,
        retain: bool = False,
        dup: bool = False,
    ) -> int:
        """Send one PUBLISH without awaiting anything. Return its packet identifier."""
        identifier = packet_id if packet_id is not None else (self.next_packet_id() if qos else 0)
        await self.send_all(
            mqtt_bytes.publish(
                topic, payload, qos=qos, packet_id=identifier, retain=retain, dup=dup
            )
        )
        return identifier

    async def acknowledge(self, kind: Kind, packet_id: int) -> None:
        """Send a PUBACK, PUBREC, PUBREL or PUBCOMP."""
        await self.send_all(mqtt_bytes.acknowledgement(kind, packet_id))

    def next_packet_id(self) -> int:
        """Return packet identifiers from 1 to 65535, one after the other."""
        self._last_packet_id = self._last_packet_id % 65535 + 1
        return self._last_packet_id

    # What a test awaits: bytes

    async def read(self, count: int) -> bytes:
        """Return exactly `count` bytes."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            return await self._reader.readexactly(count)

    async def rest(self) -> bytes:
        """Return all bytes up to the end of the connection."""
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                return await self._reader.read(-1)
        except ConnectionError:
            return b""

    async def packet(self) -> bytes:
        """Return the bytes of the next packet."""
        assert not self._waiting, f"packets came before: {self._waiting}"
        async with asyncio.timeout(DEADLINE_SECONDS):
            return await self._read_bytes()

    # What a test awaits: packets

    async def receive(self) -> Received:
        """Return the next packet. Raises `ConnectionEnded` when the broker has closed."""
        if self._waiting:
            return self._waiting.pop(0)
        return await self._read()

    async def expect(self, kind: Kind, packet_id: int | None = None) -> Received:
        """Return the next packet, which must be of this kind (and carry this packet identifier)."""
        received = await self.receive()
        assert received.kind is kind, f"expected {kind.name}, received {received}"
        assert packet_id is None or received.packet_id == packet_id, f"{received} for {packet_id}"
        return received

    async def find(self, kind: Kind, packet_id: int | None = None) -> Received:
        """Return the next packet of this kind. Packets of other kinds are kept for `receive`."""

        def is_wanted(received: Received) -> bool:
            return received.kind is kind and packet_id in (None, received.packet_id)

        for index, received in enumerate(self._waiting):
            if is_wanted(received):
                return self._waiting.pop(index)
        return await self._read_until(is_wanted)

    def has_waiting(self) -> bool:
        """Return True if a packet arrived while another was awaited and is still unread."""
        return bool(self._waiting)

    async def expect_closed(self) -> list[Received]:
        """Wait until the broker closes. Return the packets that arrived before."""
        before, self._waiting = self._waiting, []
        while True:
            try:
                before.append(await self._read())
            except ConnectionEnded:
                return before

    # What a well-behaved client does

    async def connect(
        self,
        client_id: str,
        *,
        clean: bool = True,
        keep_alive_seconds: int = 0,
        will: Will | None = None,
        username: str | None = None,
        password: bytes | None = None,
        level: int = 4,
    ) -> Received:
        """Send CONNECT. Return the CONNACK, whatever its return code."""
        await self.send_all(
            mqtt_bytes.connect(
                client_id,
                clean=clean,
                keep_alive_seconds=keep_alive_seconds,
                will=will,
                username=username,
                password=password,
                level=level,
            )
        )
        return await self.expect(Kind.CONNACK)

    async def log_in(self, client_id: str, *, clean: bool = True) -> int:
        """Send CONNECT. Return the return code of CONNACK."""
        return (await self.connect(client_id, clean=clean)).return_code

    async def subscribe(self, *filters: tuple[str, int]) -> list[int]:
        """Subscribe and await the SUBACK. Return the granted QoS of each filter."""
        packet_id = self.next_packet_id()
        await self.send_all(mqtt_bytes.subscribe(packet_id, *filters))
        return (await self.find(Kind.SUBACK, packet_id)).granted

    async def unsubscribe(self, *filters: str) -> None:
        """Unsubscribe and await the UNSUBACK."""
        packet_id = self.next_packet_id()
        await self.send_all(mqtt_bytes.unsubscribe(packet_id, *filters))
        await self.find(Kind.UNSUBACK, packet_id)

    async def deliver(
        self, topic: str, payload: bytes, *, qos: int = 0, retain: bool = False
    ) -> None:
        """Publish a message and take every step of its QoS as a sender."""
        packet_id = await self.publish(topic, payload, qos=qos, retain=retain)
        if qos == 1:
            await self.find(Kind.PUBACK, packet_id)
        elif qos == 2:
            await self.find(Kind.PUBREC, packet_id)
            await self.acknowledge(Kind.PUBREL, packet_id)
            await self.find(Kind.PUBCOMP, packet_id)

    async def take(self) -> Received:
        """Return the next PUBLISH, after every step of its QoS as a receiver."""
        message = await self.find(Kind.PUBLISH)
        if message.qos == 1:
            await self.acknowledge(Kind.PUBACK, message.packet_id)
        elif message.qos == 2:
            await self.acknowledge(Kind.PUBREC, message.packet_id)
            await self.find(Kind.PUBREL, message.packet_id)
            await self.acknowledge(Kind.PUBCOMP, message.packet_id)
        return message

    async def take_payloads_until(self, last: bytes) -> list[bytes]:
        """Take messages up to the message with the payload `last`.

        Return the payloads before it.
        """
        payloads: list[bytes] = []
        while (payload := (await self.take()).payload) != last:
            payloads.append(payload)
        return payloads

    async def ping(self) -> None:
        """Send PINGREQ and await PINGRESP, so that the broker has read everything sent before."""
        await self.send_all(mqtt_bytes.PINGREQ)
        await self.find(Kind.PINGRESP)

    # How a connection ends

    async def disconnect(self) -> None:
        """Send DISCONNECT and wait until the broker has closed the connection."""
        await self.send_all(mqtt_bytes.DISCONNECT)
        await self.expect_closed()
        self.cut()

    # Reading

    async def _read_until(self, is_wanted: Callable[[Received], bool]) -> Received:
        while not is_wanted(received := await self._read()):
            self._waiting.append(received)
        return received

    async def _read(self) -> Received:
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                return Received.of(await self._read_bytes())
        except TimeoutError:
            raise AssertionError(
                f"nothing came for {DEADLINE_SECONDS} s; before it: {self._waiting}"
            ) from None
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise ConnectionEnded(f"the broker closed; before it: {self._waiting}") from error

    async def _read_bytes(self) -> bytes:
        header = await self._reader.readexactly(2)
        while header[-1] & 0x80:
            assert len(header) < 5, "the remaining length has more than four bytes"
            header += await self._reader.readexactly(1)
        return header + await self._reader.readexactly(length_of(header[1:]))
