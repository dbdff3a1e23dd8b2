"""What every foreign client can do, so that one scenario serves all of them.

The libraries differ in how they say these things; an adapter beside each puts them in its words.
A client knows its subscription from the beginning, because mosquitto_sub does.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

# Long enough for a loaded two-core machine whose disk takes a second for an fsync.
DEADLINE_SECONDS = 60.0
# How long a session of MQTT 5.0 is kept that shall outlive its connection.
KEPT_SECONDS = 600


class Level(IntEnum):
    """The version of MQTT, as CONNECT and all of these libraries number it."""

    MQTT_3_1 = 3
    MQTT_3_1_1 = 4
    MQTT_5_0 = 5


@dataclass(frozen=True)
class Message:
    """A message as a library gave it to its program."""

    topic: str
    payload: bytes
    qos: int
    retain: bool


@dataclass(frozen=True)
class Will:
    """A will; one that waits is for MQTT 5.0."""

    topic: str
    payload: bytes
    qos: int = 2
    delay_seconds: int = 0


@dataclass(frozen=True)
class Part:
    """Who a client is. `subscription` is a topic filter and its QoS.

    One that comes back does so by itself when its connection is lost, if its library can.
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
        """Connect, and subscribe where the broker had no session.

        Whether it had one; None from a client that does not say.
        """

    async def publish(self, topic: str, payload: bytes, *, qos: int, retain: bool = False) -> None:
        """Publish; a library may still be at the steps of the QoS when this returns."""

    async def take(self) -> Message:
        """The next message."""

    async def lost(self) -> int | None:
        """Wait until the broker ends the connection; the reason code that it gave, if any."""

    async def cut(self) -> None:
        """End the connection without a DISCONNECT."""

    async def stop(self) -> None:
        """End the connection with a DISCONNECT, if there is one."""
