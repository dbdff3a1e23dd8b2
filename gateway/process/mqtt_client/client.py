"""A gmqtt client for a persistent MQTT session. The caller stores the state of the session.

By default, gmqtt itself acknowledges and resends messages, and reconnects. This client only
connects, handles pings and passes on received packets. The caller decides which packets are sent,
and when.
"""

import asyncio
import contextlib
import logging
import re
from typing import Any

from gmqtt import Client  # type: ignore[import-untyped]
from gmqtt.mqtt.constants import MQTTCommands  # type: ignore[import-untyped]
from gmqtt.mqtt.handler import MQTTConnectError  # type: ignore[import-untyped]

from gateway.process.mqtt_client.tls import TlsFiles, context_of

# Timeout for TCP, TLS, CONNECT and CONNACK together. A broker that loads a large store is slow.
CONNECT_SECONDS_MAX = 15.0
# gmqtt sends a ping after one interval, and closes after two intervals without a response.
KEEP_ALIVE_SECONDS = 20
# Timeout for DISCONNECT, in case the broker has stopped reading.
CLOSE_SECONDS_MAX = 2.0
_PACKET_KIND = 0xF0
_ERRNO = re.compile(r"\[Errno -?\d+\] ")

# gmqtt logs each faulty packet with a traceback. Our code logs each change of state in one line.
logging.getLogger("gmqtt").setLevel(logging.CRITICAL)


class SessionClient(Client):  # type: ignore[misc]
    """A client for a single connection. To reconnect, create a new client."""

    async def reconnect(self, delay: bool = False) -> None:
        """Do nothing. The caller reconnects, because gmqtt has no exponential back-off."""

    def publish(self, *_: object, **__: object) -> None:
        """Raise NotImplementedError. gmqtt would send a message before the caller has stored it."""
        raise NotImplementedError("messages go through the store, not through gmqtt's publish")

    def send_packet(self, packet: bytes) -> None:
        """Send an encoded packet unchanged. If the connection is closing, drop the packet."""
        if self._connection is not None and not self._connection.is_closing():
            self._connection.send_package(packet)

    def abort(self) -> None:
        """Close the connection immediately, without flushing unsent bytes."""
        if self._connection is not None:
            transport: asyncio.Transport = self._connection._transport
            transport.abort()

    def _send_command_with_mid(self, cmd: int, mid: int, dup: bool, reason_code: int = 0) -> None:
        # gmqtt would send PUBREL immediately, but the caller sends it when the PUBREC is durable.
        if cmd & _PACKET_KIND != MQTTCommands.PUBREL:
            super()._send_command_with_mid(cmd, mid, dup, reason_code=reason_code)


async def connect(client: SessionClient, lost: asyncio.Event, **arguments: Any) -> None:
    """Connect to a broker, and wait for its CONNACK.

    Args:
        client: a new client that has not connected before.
        lost: an event that the client's `on_disconnect` sets.
        arguments: passed to gmqtt's `connect`, for example the result of `target_of`.

    Raises:
        OSError, TimeoutError, MQTTConnectError: if the connection fails. `sentence_of` describes
            the reason.
    """
    connecting = asyncio.ensure_future(client.connect(**arguments))
    losing = asyncio.ensure_future(lost.wait())
    try:
        async with asyncio.timeout(CONNECT_SECONDS_MAX):
            await asyncio.wait({connecting, losing}, return_when=asyncio.FIRST_COMPLETED)
        if not connecting.done():
            raise ConnectionResetError("closed before CONNACK")
        connecting.result()
    finally:
        for task in (connecting, losing):
            task.cancel()
        await asyncio.gather(connecting, losing, return_exceptions=True)


def target_of(host: str, port: int, tls: TlsFiles | None, version: int) -> dict[str, object]:
    """Return the arguments for gmqtt's `connect`. Raises OSError if a TLS file is unreadable.

    `version` is the MQTT protocol version, 4 or 5.
    """
    return {
        "host": host,
        "port": port,
        "ssl": False if tls is None else context_of(tls),
        "keepalive": KEEP_ALIVE_SECONDS,
        "version": version,
    }


async def close(client: SessionClient) -> None:
    """Send DISCONNECT and close the connection, within `CLOSE_SECONDS_MAX`."""
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS_MAX):
            await client.disconnect()
    client.abort()


def sentence_of(error: Exception, *, fix: str) -> str:
    """Return the reason why a connection failed, as a phrase for the log and the status.

    If the broker rejected the CONNECT, the phrase asks the user to check the configuration keys for
    user name and password. The argument `fix` names these keys.
    """
    if isinstance(error, TimeoutError):
        return f"no answer within {CONNECT_SECONDS_MAX:g} s"
    if isinstance(error, MQTTConnectError):
        return f"{error}; check {fix}"
    return _ERRNO.sub("", str(error)) or type(error).__name__
