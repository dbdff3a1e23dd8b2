"""A gmqtt client for one connection of a persistent session whose state is stored elsewhere.

By itself gmqtt acknowledges, resends and reconnects. Here it only connects, answers pings and
passes received packets on. The caller decides what is sent, and when.
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

# For TCP, TLS, CONNECT and CONNACK together; a broker that loads a large store answers late.
CONNECT_SECONDS_MAX = 15.0
# gmqtt pings after one interval, and closes without an answer after two.
KEEP_ALIVE_SECONDS = 20
# A broker that has stopped reading is not worth waiting for.
CLOSE_SECONDS_MAX = 2.0
_PACKET_KIND = 0xF0
_ERRNO = re.compile(r"\[Errno -?\d+\] ")

# It logs each faulty packet with a traceback; our code logs each change of state in one line.
logging.getLogger("gmqtt").setLevel(logging.CRITICAL)


class SessionClient(Client):  # type: ignore[misc]
    """One connection. A new client is created for the next one."""

    async def reconnect(self, delay: bool = False) -> None:
        """Do nothing, because gmqtt always waits for the same time before it reconnects."""

    def publish(self, *_: object, **__: object) -> None:
        """Raise NotImplementedError, because gmqtt sends a message before it stores it."""
        raise NotImplementedError("messages go through the store, not through gmqtt's publish")

    def send_packet(self, packet: bytes) -> None:
        """Send bytes unchanged. They are dropped if the connection is closing."""
        if self._connection is not None and not self._connection.is_closing():
            self._connection.send_package(packet)

    def abort(self) -> None:
        """Close the connection immediately, without flushing unsent bytes."""
        if self._connection is not None:
            transport: asyncio.Transport = self._connection._transport
            transport.abort()

    def _send_command_with_mid(self, cmd: int, mid: int, dup: bool, reason_code: int = 0) -> None:
        # gmqtt sends PUBREL when it stores it; here it is sent when the PUBREC is durable.
        if cmd & _PACKET_KIND != MQTTCommands.PUBREL:
            super()._send_command_with_mid(cmd, mid, dup, reason_code=reason_code)


async def connect(client: SessionClient, lost: asyncio.Event, **arguments: Any) -> None:
    """Connect and wait for CONNACK, or until gmqtt gives up.

    Args:
        client: a new client.
        lost: set by the client's `on_disconnect`.
        arguments: arguments of gmqtt's `connect`.

    Raises:
        OSError, TimeoutError, MQTTConnectError: no connection. `sentence_of` explains each.
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
    """Return the arguments for gmqtt's `connect`. Raises OSError if a file is unreadable."""
    return {
        "host": host,
        "port": port,
        "ssl": False if tls is None else context_of(tls),
        "keepalive": KEEP_ALIVE_SECONDS,
        "version": version,
    }


async def close(client: SessionClient) -> None:
    """Send DISCONNECT and close, within `CLOSE_SECONDS_MAX`."""
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS_MAX):
            await client.disconnect()
    client.abort()


def sentence_of(error: Exception, *, mend: str) -> str:
    """Return why there is no connection.

    `mend` names the configuration keys of user and password.
    """
    if isinstance(error, TimeoutError):
        return f"no answer within {CONNECT_SECONDS_MAX:g} s"
    if isinstance(error, MQTTConnectError):
        return f"{error}; check {mend}"
    return _ERRNO.sub("", str(error)) or type(error).__name__
