"""A lane of the uplink: the queue of messages for one broker, and their exchanges in flight.

The queue is stored on disk. gmqtt uses a lane as its storage (`client.py`).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gateway.broker.wire.acknowledgement_encoder import pubrel
from gateway.process.durable_queue.broker_queue import BrokerQueue
from gateway.process.durable_queue.settlement import ExchangeSettlement
from gateway.process.mqtt_client.exchanges import Exchange, Exchanges
from gateway.uplink.message import Message
from gateway.uplink.routes import Side
from gateway.uplink.store import UplinkStore

Send = Callable[[bytes], None]

PACKET_ID_MAX: Final = 65533
"""Highest packet identifier of a message.

The two identifiers above it are for SUBSCRIBE and UNSUBSCRIBE.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Outlet:
    """A lane's connection to its broker: functions that send packets, and the broker's limits."""

    send: Send
    has_room: Callable[[], bool]
    version: int
    window: int
    packet_bytes_max: int | None = None
    maximum_qos: int = 2
    may_retain: bool = True

    def adapted(self, message: Message) -> Message:
        """Return a message with only those features that the broker supports.

        If necessary, its QoS is reduced and its RETAIN flag is cleared.
        """
        qos = min(message.qos, self.maximum_qos)
        retain = message.retain and self.may_retain
        if (qos, retain) == (message.qos, message.retain):
            return message
        return replace(message, qos=qos, retain=retain)

    def packet_of(self, exchange: Exchange[Message], now: float, *, again: bool) -> bytes:
        """Return the packet that an exchange sends next: a PUBLISH, or a PUBREL after PUBREC.

        The argument `again` is True if the broker might already have received this packet.
        """
        if exchange.released:
            return pubrel(exchange.packet_id)
        # [MQTT-3.3.1-1] [MQTT5-3.3.1-1] DUP in every re-delivery of a PUBLISH
        return exchange.message.frame(exchange.packet_id, self.version, now, again=again)

    def hindrance(self, message: Message, now: float) -> str | None:
        """Return the reason why a message cannot be sent, or None if it can be sent.

        The reason is "expired" or "too_large". Each reason is also the name of a counter.
        """
        if message.has_expired(now):
            return "expired"
        frame = message.frame(1 if message.qos else 0, self.version, now, again=False)
        limit = self.packet_bytes_max
        return "too_large" if limit is not None and len(frame) > limit else None


GivenUp = tuple[int, Message, str]
"""A message that cannot be sent: its row number, the message, and the name of the counter."""


class Lane(BrokerQueue[Message]):
    """The queue of messages for one broker, and their exchanges in flight.

    `target` is this broker: the local or the remote one.
    """

    def __init__(self, store: UplinkStore, target: Side, *, bytes_max: int) -> None:
        super().__init__(
            store.messages[target],
            Exchanges(packet_id_max=PACKET_ID_MAX),
            session_key=f"session_{target.name.lower()}",
        )
        self.target = target
        self.bytes_max = bytes_max
        self.outlet: Outlet | None = None
        self._stored: Sequence[Message] = ()
        self.given_up: list[GivenUp] = []
        """Messages that the next commit deletes without sending them."""
        self.pauses = 0
        """Number of pauses after temporary refusals that have not ended. No exchange starts during
        a pause."""
        self.refusals: Counter[int] = Counter()
        """Number of refusals for an unclear reason, keyed by the message's row number."""

    @property
    def room_bytes(self) -> int:
        """The number of free bytes in the queue."""
        return self.bytes_max - self.bytes_held

    @property
    def is_empty(self) -> bool:
        """True if the lane has no messages, neither waiting nor in flight."""
        return not self.waiting and not len(self.exchanges)

    def apply(self, settlement: ExchangeSettlement[Message]) -> None:
        """Update the queue in memory after responses from the broker.

        The queue counts how often the broker has refused each message. This method deletes the
        counts of delivered messages.
        """
        super().apply(settlement)
        for each in settlement.completed:
            self.refusals.pop(each.number, None)

    def drop(self, exchange: Exchange[Message]) -> None:
        """Remove a message with the next commit, because the broker has refused it."""
        self.counters["refused"] += 1
        self.refusals.pop(exchange.number, None)
        self.to_remove.append(exchange)

    @property
    def can_start(self) -> bool:
        """True if the delivery of another message can start.

        A message must be waiting, the lane must be connected and not paused, and the limit on
        exchanges in flight must not be reached.
        """
        return self.outlet is not None and not self.pauses and super().can_start

    def store(self, messages: Sequence[Message]) -> None:
        """Append messages to the queue, in the current transaction.

        Their delivery can start in the same transaction.
        """
        self._stored = messages
        self.table.insert(messages)
        self.add(len(messages), sum(each.bytes_count for each in messages))

    def start_sending(self, now: float) -> None:
        """Start the delivery of the oldest waiting messages, in the current transaction.

        Messages that have expired or are too large for this broker are deleted instead.
        """
        self.given_up = []
        if self.outlet is None or not self.can_start:
            return
        for number, message in self.rows_to_start(self.exchanges.free):
            sent = self.outlet.adapted(message)
            hindrance = self.outlet.hindrance(sent, now)
            if hindrance is None:
                self.started.append(self.exchanges.start(number, sent))
            else:
                self.given_up.append((number, message, hindrance))
        self.table.start(self.started)
        self.table.remove(number for number, _, _ in self.given_up)

    def undo_start(self) -> None:
        """Undo the last calls of `store` and `start_sending`.

        The caller has rolled back their transaction.
        """
        super().undo_start()
        self.add(-len(self._stored), -sum(each.bytes_count for each in self._stored))
        self.waiting += len(self.given_up)
        self.given_up = []

    def committed(self) -> None:
        """Update the queue's statistics after a commit that has removed messages.

        The removed messages were delivered, or could not be sent.
        """
        super().committed()
        for _, message, hindrance in self.given_up:
            self.counters[hindrance] += 1
            self.bytes_held -= message.bytes_count

    def forward_qos0(self, message: Message, now: float) -> None:
        """Send a QoS 0 message immediately without storing it, or drop it if that is impossible."""
        outlet = self.outlet
        if outlet is None or not outlet.has_room():
            self.counters["dropped_qos0"] += 1
        elif (hindrance := outlet.hindrance(outlet.adapted(message), now)) is not None:
            self.counters[hindrance] += 1
        else:
            outlet.send(outlet.adapted(message).frame(0, outlet.version, now, again=False))
            self.counters["forwarded_qos0"] += 1

    def status(self) -> dict[str, object]:
        """Return the status report's data about the messages in this direction."""
        return {
            "waiting": self.waiting,
            "in_flight": len(self.exchanges),
            "bytes": self.bytes_held,
            "bytes_max": self.bytes_max,
            **{name: self.counters[name] for name in COUNTERS},
        }


COUNTERS = (
    "forwarded",
    "forwarded_qos0",
    "dropped_qos0",
    "expired",
    "refused",
    "too_large",
    "looped",
    "unrouted",
    "republished",
    "unexpected_answers",
)
"""Names of the counters in the status of a direction (docs/formats/control-socket.md)."""
