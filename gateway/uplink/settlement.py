"""Processes events on the connections to the two brokers, such as received packets.

Events are processed in order of arrival. Their effects are collected: the changes to the database
for the next transaction, and the packets to send after this transaction. This module does no I/O.
"""

from dataclasses import dataclass
from typing import Final, assert_never

from gateway.broker.wire import codes
from gateway.broker.wire.acknowledgement_encoder import pubcomp, pubrec, pubrel
from gateway.broker.wire.packets import Acknowledgement, Puback, Pubcomp, Pubrec, Pubrel
from gateway.process.durable_queue.settlement import ExchangeSettlement
from gateway.process.mqtt_client.exchanges import Exchange, Exchanges
from gateway.uplink.lane import Lane, Outlet
from gateway.uplink.message import Message
from gateway.uplink.reception import Arrival, Reception
from gateway.uplink.routes import Side

_PASSING: Final = frozenset({codes.PACKET_ID_IN_USE, codes.QUOTA_EXCEEDED})
"""Reason codes of refusals that do not depend on the message."""
_UNCLEAR: Final = frozenset({codes.UNSPECIFIED_ERROR, codes.IMPLEMENTATION_SPECIFIC_ERROR})
"""Reason codes of refusals that may or may not depend on the message. [MQTT5-2.4] table 2-6"""
UNCLEAR_REFUSALS_MAX: Final = 12
"""Refusals after which a message is dropped, about a minute of attempts.

A message that is never accepted must not slow down the other messages.
"""


@dataclass(frozen=True, slots=True)
class Arrived:
    """A connection event: a QoS 1 or 2 message has arrived and must be forwarded."""

    side: Side
    arrival: Arrival


@dataclass(frozen=True, slots=True)
class Answered:
    """A connection event: a PUBACK, PUBREC, PUBREL or PUBCOMP has arrived."""

    side: Side
    packet: Acknowledgement


@dataclass(frozen=True, slots=True)
class Connected:
    """A connection event: a broker has accepted the connection, and resumed or created a session.

    `session` is the session's name.
    """

    side: Side
    outlet: Outlet
    session: str


@dataclass(frozen=True, slots=True)
class SessionLost:
    """A connection event: a broker no longer has the uplink's session.

    Therefore, the exchanges in flight cannot be completed.
    """

    side: Side


@dataclass(frozen=True, slots=True)
class Disconnected:
    """A connection event: the connection to a broker has ended."""

    side: Side


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A connection event: a broker has accepted new subscriptions.

    `filters` is a JSON object that maps each subscribed topic filter to its QoS.
    """

    side: Side
    filters: str


ConnectionEvent = Arrived | Answered | Connected | SessionLost | Disconnected | Subscribed


class SideChanges(ExchangeSettlement[Message]):
    """The effects of connection events on one broker's data: its queue, subscriptions and session.

    They also include the packet identifiers that can be freed, because PUBREL has arrived.
    """

    def __init__(self, exchanges: Exchanges[Message]) -> None:
        super().__init__(exchanges)
        self.freed: set[int] = set()
        self.forgets_received = False
        self.subscriptions: str | None = None

    @property
    def needs_commit(self) -> bool:
        """True if a commit is necessary before the collected packets may be sent."""
        return bool(
            super().needs_commit
            or self.freed
            or self.forgets_received
            or self.subscriptions is not None
        )


class Settlement:
    """Collects the effects of connection events on the messages of both brokers.

    A lane is the queue of messages for one broker. A reception contains the messages received from
    one broker. The attribute `paused` contains the brokers that have refused a message for a
    temporary reason. The uplink sends no new messages to them for some time.
    """

    def __init__(self, lanes: dict[Side, Lane], receptions: dict[Side, Reception]) -> None:
        self._lanes = lanes
        self._receptions = receptions
        self.changes = {side: SideChanges(lane.exchanges) for side, lane in lanes.items()}
        self.paused: set[Side] = set()
        self.refusals: list[tuple[Side, str, int]] = []

    @property
    def needs_commit(self) -> bool:
        """True if a commit is necessary before the collected packets may be sent."""
        return any(changes.needs_commit for changes in self.changes.values())

    def apply(self, event: ConnectionEvent) -> None:
        """Process the next connection event, such as a received packet."""
        changes = self.changes[event.side]
        lane, reception = self._lanes[event.side], self._receptions[event.side]
        match event:
            case Arrived(_, arrival):
                self._apply_arrival(arrival, reception, changes)
            case Answered(side, packet):
                self._apply_answer(side, packet, lane, changes)
            case Connected(_, outlet, session):
                lane.outlet = outlet
                lane.exchanges.window = outlet.window
                changes.session = session
            case SessionLost():
                self._lose_session(reception, changes)
            case Disconnected():
                lane.outlet = None
                reception.drop_arrivals()
                # The next connection starts by resending the messages that are then in flight.
                changes.answers.clear()
            case Subscribed(_, filters):
                changes.subscriptions = filters
            case _:
                assert_never(event)

    def _apply_arrival(self, arrival: Arrival, reception: Reception, changes: SideChanges) -> None:
        reception.bytes_coming -= arrival.message.bytes_count
        if arrival.message.qos == 2 and reception.is_repeat(arrival.packet_id):
            if arrival.packet_id in reception.held:
                changes.answers.append(pubrec(arrival.packet_id))
        else:
            reception.add(arrival)

    def _apply_answer(
        self, side: Side, packet: Acknowledgement, lane: Lane, changes: SideChanges
    ) -> None:
        packet_id = packet.packet_id
        match packet:
            case Pubrel():
                if packet_id in self._receptions[side].held:
                    self._receptions[side].held.discard(packet_id)
                    changes.freed.add(packet_id)
                # An unknown identifier gets a response too, so that the broker can free it.
                changes.answers.append(pubcomp(packet_id))
            case Pubrec(reason_code=code) if code >= codes.FIRST_ERROR:
                self._refuse(side, lane, lane.exchanges.receive_refusal(packet_id), code)
            case Pubrec():
                changes.receive_pubrec(packet_id, pubrel(packet_id))
            case Puback(reason_code=code) if code >= codes.FIRST_ERROR:
                self._refuse(side, lane, lane.exchanges.receive_puback(packet_id), code)
            case Puback():
                changes.complete(lane.exchanges.receive_puback(packet_id))
            case Pubcomp():
                changes.complete(lane.exchanges.receive_pubcomp(packet_id))

    def _refuse(
        self, side: Side, lane: Lane, exchange: Exchange[Message] | None, code: int
    ) -> None:
        changes = self.changes[side]
        if exchange is None:
            changes.unexpected_answers += 1
            return
        is_passing = code in _PASSING
        if code in _UNCLEAR:
            lane.refusals[exchange.number] += 1
            is_passing = lane.refusals[exchange.number] < UNCLEAR_REFUSALS_MAX
        if is_passing:
            changes.returned.append(exchange)
            self.paused.add(side)
        else:
            lane.drop(exchange)
            self.refusals.append((side, exchange.message.topic, code))

    def _lose_session(self, reception: Reception, changes: SideChanges) -> None:
        reception.held.clear()
        reception.drop_arrivals()
        changes.lose_session()
        changes.freed.clear()
        changes.forgets_received = True
        changes.session, changes.subscriptions = "", "{}"
