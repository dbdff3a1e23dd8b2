"""The interface of all foreign clients, so that one scenario serves all of them.

The libraries have different calls for the same steps, so each has an adapter. A client is created
with its subscription, because mosquitto_sub needs it at its start.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

# Long enough for a loaded two-core machine whose disk takes a second for an fsync.
DEADLINE_SECONDS = 60.0
# Seconds for which a session of MQTT 5.0 is kept after its connection ends.
KEPT_SECONDS = 600


class Level(IntEnum):
    """The version of MQTT as CONNECT encodes it. All tested libraries use the same codes."""

    MQTT_3_1 = 3
    MQTT_3_1_1 = 4
    MQTT_5_0 = 5


@dataclass(frozen=True)
class Message:
    """A message as a library passed it to its program."""

    topic: str
    payload: bytes
    qos: int
    retain: bool


@dataclass(frozen=True)
class Will:
    """A will. A delay needs MQTT 5.0."""

    topic: str
    payload: bytes
    qos: int = 2
    delay_seconds: int = 0


@dataclass(frozen=True)
class Part:
    """The description of a client. `subscription` is a topic filter and its QoS.

    With `comes_back`, the client reconnects by itself, if its library can.
    """

    client_id: str
    level: Level
    port: int
    is_websocket: bool = False
    subscription: tuple[str, int] | None = None
    is_kept: bool = False
    comes_back: bool = False
    will: Will | None = None

    @property
    def session_expiry_seconds(self) -> int:
        """The session expiry interval of MQTT 5.0."""
        return KEPT_SECONDS if self.is_kept else 0


class ForeignClient(Protocol):
    """A client of another project."""

    async def start(self) -> bool | None:
        """Connect, and subscribe unless the broker had a session.

        Return True if the broker had a session, or None if the library does not report it.
        """

    async def publish(self, topic: str, payload: bytes, *, qos: int, retain: bool = False) -> None:
        """Publish a message. Steps of its QoS may still be pending when this method returns."""

    async def take(self) -> Message:
        """Return the next message."""

    async def lost(self) -> int | None:
        """Wait until the broker ends the connection.

        Return its reason code, or None if it sent none.
        """

    async def cut(self) -> None:
        """Cut the connection without a DISCONNECT."""

    async def stop(self) -> None:
        """Close the connection, if it is open, with a DISCONNECT."""
