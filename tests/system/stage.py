"""A broker and the clients that one test connects to it, under names that no other test uses."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Self

from tests.peers.byte_client import ByteClient
from tests.peers.connection import DEADLINE_SECONDS
from tests.peers.mqtt_bytes import Kind, Will
from tests.system.broker_process import BrokerProcess


class Stage:
    """Clients and topics of one test. Every connection is cut when the test is over."""

    def __init__(self, broker: BrokerProcess, prefix: str) -> None:
        self.broker = broker
        self.prefix = prefix
        self._clients: list[ByteClient] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Cut every connection that the test opened."""
        for client in self._clients:
            client.cut()
        self._clients.clear()
        # The transports close in the next iteration of the event loop.
        await asyncio.sleep(0)

    def topic(self, name: str) -> str:
        """Return a topic that no other test uses."""
        return f"{self.prefix}/{name}"

    def client_id(self, name: str) -> str:
        """Return a client identifier that no other test uses."""
        return f"{self.prefix}{name}"

    async def open(self, *, receive_buffer_bytes: int | None = None) -> ByteClient:
        """Open a TCP connection without sending CONNECT."""
        client = await ByteClient.open(self.broker.port, receive_buffer_bytes=receive_buffer_bytes)
        self._clients.append(client)
        return client

    async def client(
        self,
        name: str,
        *,
        clean: bool = True,
        keep_alive_seconds: int = 0,
        will: Will | None = None,
        level: int = 4,
        receive_buffer_bytes: int | None = None,
    ) -> ByteClient:
        """Connect a client, and assert that the broker accepts it."""
        client = await self.open(receive_buffer_bytes=receive_buffer_bytes)
        connack = await client.connect(
            self.client_id(name),
            clean=clean,
            keep_alive_seconds=keep_alive_seconds,
            will=will,
            level=level,
        )
        assert connack.return_code == 0, connack
        client.session_present = connack.session_present
        return client

    async def deliver(
        self, topic: str, *payloads: bytes, qos: int = 2, retain: bool = False
    ) -> None:
        """Publish these messages one after the other from a separate client, with their complete
        acknowledgement."""
        publisher = await self.client("publisher")
        for payload in payloads:
            await publisher.deliver(topic, payload, qos=qos, retain=retain)
        await publisher.disconnect()

    async def burst(self, topic: str, payloads: list[bytes], *, qos: int) -> None:
        """Publish these messages together from a separate client, with their complete
        acknowledgement."""
        publisher = await self.client("publisher")
        packet_ids = [await publisher.publish(topic, payload, qos=qos) for payload in payloads]
        for packet_id in packet_ids if qos == 1 else []:
            await publisher.expect(Kind.PUBACK, packet_id)
        for packet_id in packet_ids if qos == 2 else []:
            await publisher.expect(Kind.PUBREC, packet_id)
        for packet_id in packet_ids if qos == 2 else []:
            await publisher.acknowledge(Kind.PUBREL, packet_id)
        for packet_id in packet_ids if qos == 2 else []:
            await publisher.expect(Kind.PUBCOMP, packet_id)
        await publisher.disconnect()

    async def retained_of(self, topic_filter: str, *, wanted: int) -> list[bytes]:
        """Return the payloads that a new subscription to this filter receives immediately.

        The method waits for `wanted` messages. Then it subscribes to a second topic, whose retained
        message proves that no more messages follow for the filter.
        """
        await self.deliver(self.topic("end of retained"), b"end", retain=True)
        reader = await self.client("reader")
        await reader.subscribe((topic_filter, 2))
        payloads = [(await reader.take()).payload for _ in range(wanted)]
        await reader.subscribe((self.topic("end of retained"), 2))
        assert (await reader.take()).payload == b"end"
        await reader.disconnect()
        return payloads

    async def status(self) -> Any:
        """Return the broker's status from its control socket."""
        return await asyncio.to_thread(self.broker.ask, "status")

    async def session(self, name: str) -> Any:
        """Return a client's session as the control socket reports it."""
        return await asyncio.to_thread(self.broker.ask, "session", client_id=self.client_id(name))

    async def settle(self, name: str) -> None:
        """Wait until the broker has every acknowledgement of a client.

        Libraries pass a message to the program before they acknowledge it. A program that stops
        between the two rightly receives the message again.
        """
        deadline = time.monotonic() + DEADLINE_SECONDS
        while (session := await self.session(name))["inflight"]:
            assert time.monotonic() < deadline, f"expected nothing in flight in {session}"
            # Polled: the control socket cannot report changes.
            await asyncio.sleep(0.02)

    async def ended(self, name: str) -> None:
        """Wait until the broker no longer has a session of this client."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        ask, client_id = self.broker.answer_of, self.client_id(name)
        while (await asyncio.to_thread(ask, "session", client_id=client_id))["ok"]:
            assert time.monotonic() < deadline, f"expected no session of {client_id}"
            # Polled: the control socket cannot report changes.
            await asyncio.sleep(0.02)

    async def restart(self, how: str) -> None:
        """Stop the broker with SIGTERM (`terminated`) or SIGKILL (`killed`), and start it again on
        the same data."""
        await asyncio.to_thread(self.broker.restart, how)

    async def eventually(self, question: Callable[[Any], bool], expected: str) -> Any:
        """Request the status until it satisfies the condition, and return it.

        `expected` names the condition in an error.
        """
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not question(status := await self.status()):
            assert time.monotonic() < deadline, f"expected {expected} in {status}"
            # Polled: the control socket cannot report changes.
            await asyncio.sleep(0.05)
        return status
