"""Signals of the MQTT client since the last batch, and their combined result. Pure.

Signals are settled in the order in which they came: an acknowledgement that the old connection
still brought counts, and a new connection without a session ends every exchange before it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, assert_never

from firmware_bridge.readings.publications import Publication
from gateway.broker.wire.encoder import publish_frame, pubrel
from gateway.broker.wire.packets import topic_field_of
from gateway.process.mqtt_client.exchanges import Exchange, Exchanges

Send = Callable[[bytes], None]

_MQTT_3_1_1: Final = 4


@dataclass(frozen=True, slots=True)
class Pubrec:
    """PUBREC came."""

    packet_id: int


@dataclass(frozen=True, slots=True)
class Pubcomp:
    """PUBCOMP came."""

    packet_id: int


@dataclass(frozen=True, slots=True)
class Connected:
    """False for `session_present`: the session has just begun."""

    send: Send
    session_present: bool


@dataclass(frozen=True, slots=True)
class SessionLost:
    """Lost session: the broker does not have it, and its exchanges end."""


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The connection of `send` has ended."""

    send: Send


Signal = Pubrec | Pubcomp | Connected | SessionLost | Disconnected


class Settlement:
    """`released`, `returned` and `completed` are for the disk, the rest is sent after it."""

    def __init__(self, exchanges: Exchanges[Publication], send: Send | None) -> None:
        self._exchanges = exchanges
        self.send = send
        self.released: list[Exchange[Publication]] = []
        self.returned: list[Exchange[Publication]] = []
        self.completed: list[Exchange[Publication]] = []
        self.unexpected_pubcomps = 0
        self._pubrels: list[int] = []
        self._replay = False

    @property
    def needs_commit(self) -> bool:
        """True if something has to be durable before anything is sent."""
        return bool(self.released or self.returned)

    def settle(self, signal: Signal) -> None:
        """Take in the next signal."""
        match signal:
            case Pubrec(packet_id):
                self._settle_pubrec(packet_id)
            case Pubcomp(packet_id):
                exchange = self._exchanges.receive_pubcomp(packet_id)
                if exchange is None:
                    self.unexpected_pubcomps += 1
                else:
                    self.completed.append(exchange)
            case Connected(send, session_present):
                self.send = send
                self._pubrels.clear()
                self._replay = session_present
                self._exchanges.begin_again()
                if not session_present:
                    self._return_all()
            case SessionLost():
                self._return_all()
            case Disconnected(send):
                if self.send == send:
                    self.send = None
            case _:
                assert_never(signal)

    def send_durable(self, started: list[Exchange[Publication]]) -> None:
        """Send what the commit has made true; `started` go out for the first time."""
        send = self.send
        if send is None:
            return
        if not self._replay:
            for packet_id in self._pubrels:
                send(pubrel(packet_id))
        # [MQTT-4.4.0-1] unacknowledged PUBLISH and PUBREL with their packet identifiers
        for exchange in self._exchanges.take_unsent():
            send(packet_of(exchange, again=True))
        for exchange in started:
            send(packet_of(exchange, again=False))

    def _return_all(self) -> None:
        self.released.clear()
        self.returned += self._exchanges.forget_all()

    def _settle_pubrec(self, packet_id: int) -> None:
        exchange, first = self._exchanges.receive_pubrec(packet_id)
        if exchange is not None and first:
            self.released.append(exchange)
        # One that we do not know is answered too, so that the broker can free it.
        self._pubrels.append(packet_id)


def packet_of(exchange: Exchange[Publication], *, again: bool) -> bytes:
    """Return the packet to send now. `again`: the broker may have received it before."""
    if exchange.released:
        return pubrel(exchange.packet_id)
    publication = exchange.message
    return publish_frame(
        topic_field_of(publication.topic),
        publication.payload,
        publication.qos,
        publication.retain,
        again,  # [MQTT-3.3.1-1] DUP in every re-delivery of a PUBLISH
        exchange.packet_id,
        _MQTT_3_1_1,
        None,
    )
