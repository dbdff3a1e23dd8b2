"""Collects the results of MQTT events: changes to the outbox, and packets to send.

The changes are committed before the packets are sent. This module does no I/O.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, assert_never

from firmware_bridge.readings.publications import Publication
from gateway.broker.wire.acknowledgement_encoder import pubrel
from gateway.broker.wire.encoder import publish_frame
from gateway.broker.wire.packets import topic_field_of
from gateway.process.durable_queue.settlement import ExchangeSettlement
from gateway.process.mqtt_client.exchanges import Exchange, Exchanges

Send = Callable[[bytes], None]

_MQTT_3_1_1: Final = 4


@dataclass(frozen=True, slots=True)
class Pubrec:
    """Event: a PUBREC from the broker has arrived."""

    packet_id: int


@dataclass(frozen=True, slots=True)
class Pubcomp:
    """Event: a PUBCOMP from the broker has arrived."""

    packet_id: int


@dataclass(frozen=True, slots=True)
class Connected:
    """Event: a connection has been established. `send` sends packets over this connection.

    If `session_present` is False, the broker has just created the session.
    """

    send: Send
    session_present: bool


@dataclass(frozen=True, slots=True)
class SessionLost:
    """Event: the broker has lost the session. All exchanges end."""


@dataclass(frozen=True, slots=True)
class Disconnected:
    """Event: a connection has ended. `send` is the function that sent packets over it."""

    send: Send


ConnectionEvent = Pubrec | Pubcomp | Connected | SessionLost | Disconnected


class Settlement(ExchangeSettlement[Publication]):
    """Changes to store and packets to send, as a result of recent events from the MQTT client.

    `send` sends a packet over the current connection. It is None if there is no connection.
    """

    def __init__(self, exchanges: Exchanges[Publication], send: Send | None) -> None:
        super().__init__(exchanges)
        self.send = send
        self._replay = False

    def apply(self, event: ConnectionEvent) -> None:
        """Process the next event from the MQTT client, such as a PUBREC."""
        match event:
            case Pubrec(packet_id):
                self.receive_pubrec(packet_id, pubrel(packet_id))
            case Pubcomp(packet_id):
                self.complete(self._exchanges.receive_pubcomp(packet_id))
            case Connected(send, session_present):
                self.send = send
                self.answers.clear()
                self._replay = session_present
                self._exchanges.begin_again()
                if not session_present:
                    self.lose_session()
            case SessionLost():
                self.lose_session()
            case Disconnected(send):
                if self.send == send:
                    self.send = None
            case _:
                assert_never(event)

    def send_durable(self, started: list[Exchange[Publication]]) -> None:
        """Send the packets that were waiting for the commit, if there is a connection.

        `started` contains the exchanges whose PUBLISH is now sent for the first time.
        """
        if self.send is None:
            return
        if self._replay:
            self.answers.clear()  # each PUBREL is among the resent packets
        for packet in self.packets(started, packet_of):
            self.send(packet)


def packet_of(exchange: Exchange[Publication], *, again: bool) -> bytes:
    """Return the packet to send for an exchange: a PUBLISH, or a PUBREL after PUBREC.

    The argument `again` is True if the broker might have received the PUBLISH before.
    """
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
