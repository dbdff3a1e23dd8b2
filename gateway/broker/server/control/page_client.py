"""An MQTT client inside the broker, through which operators publish from the status page.

It is treated like a client with a network connection. Bans, access rules, quotas and limits apply,
messages are recorded in the journal, and messages are refused while the disk is full. An
acknowledgement means that the message is durable. The client has no password, because the status
page has authenticated the operator.
"""

import asyncio
import secrets
from typing import Final

from gateway.broker.access.rules.defaults import PAGE_CLIENT_ID
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.server.event_loop.channel import Channel
from gateway.broker.server.event_loop.event_loop import EventLoop
from gateway.broker.wire.codes import FIRST_ERROR
from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import (
    Connack,
    Connect,
    Disconnect,
    Packet,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
)

VERSION: Final = 5
"""The client uses MQTT 5.0, because earlier versions cannot report that a message was refused."""
PACKET_ID: Final = 1
PACKET_BYTES_MAX: Final = 64 * 1024
"""Maximum length of a packet from the broker in bytes. The broker sends this client nothing longer
than an acknowledgement with a reason."""

Answer = Connack | Puback | Pubrec | Pubcomp | Disconnect


class PageClient(Channel):
    """An MQTT client inside the broker that publishes one message and disconnects."""

    connection: Connection

    def __init__(
        self, event_loop: EventLoop, *, listener: str, address: str, username: str | None
    ) -> None:
        super().__init__()
        self._event_loop = event_loop
        self._decoder = Decoder(PACKET_BYTES_MAX, VERSION, side="client")
        self._answers: asyncio.Queue[Packet | None] = asyncio.Queue()
        self._is_gone = False
        self.connection = event_loop.accept(
            self, address, anonymous=True, share=None, listener=listener
        )
        self.connection.proven_user = username

    async def publish(self, topic: str, payload: bytes, *, qos: int, retain: bool) -> Answer | None:
        """Connect, publish a message at QoS 1 or 2, and return the broker's last response.

        If the broker refuses the connection, the response is a CONNACK with an error code. The
        result is None if the broker closes the connection without a response.
        """
        client_id = f"{PAGE_CLIENT_ID}{secrets.token_hex(8)}"
        self._send(Connect(VERSION, client_id, True, 0, None, None, None))
        answer = await self._answer()
        if answer is None or answer.reason_code >= FIRST_ERROR:
            return answer
        self._send(Publish(topic, payload, qos, retain, False, PACKET_ID))
        answer = await self._answer()
        if isinstance(answer, Pubrec) and answer.reason_code < FIRST_ERROR:
            released, matched = Pubrel(PACKET_ID), answer
            self._send(released)
            answer = await self._answer()
            if isinstance(answer, Pubcomp) and not answer.reason_code:
                answer = matched
        return answer

    def leave(self) -> None:
        """Disconnect, if the connection is still open."""
        if not self._is_gone:
            self._send(Disconnect())
            self._lose()

    async def _answer(self) -> Answer | None:
        packet = await self._answers.get()
        assert packet is None or isinstance(packet, Answer)
        return packet

    def _send(self, packet: Packet) -> None:
        self._event_loop.receive(self, encode(packet, VERSION))

    def write(self) -> None:
        """Decode the packets that the core has sent to this client.

        If the core has closed the connection, wake the caller of `publish` and then remove the
        connection.
        """
        data = self.connection.take_outgoing()
        self._event_loop.broker.statistics.bytes_sent += len(data)
        for packet in self._decoder.feed(data):
            self._answers.put_nowait(packet)
        if self.connection.closing and not self._is_gone:
            self._answers.put_nowait(None)
            # Not now: the event loop is writing to all connections.
            asyncio.get_running_loop().call_soon(self._lose)

    def update_reading(self) -> None:
        """Do nothing. Reading is never paused, because this client waits for each response."""

    def abort(self) -> None:
        """Close the connection immediately."""
        self._answers.put_nowait(None)
        self._lose()

    def _lose(self) -> None:
        if not self._is_gone:
            self._is_gone = True
            self._event_loop.lose(self)
