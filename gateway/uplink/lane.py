"""One direction: the queue on disk for one broker, and its exchanges in flight.

`Lane` holds its state in memory. Changes to rows are collected there and written by the committer.
gmqtt uses it through its storage interface (`client.py`).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gateway.broker.wire.encoder import pubrel
from gateway.process.mqtt_client.exchanges import Exchange, Exchanges
from gateway.uplink.message import Message
from gateway.uplink.routes import Side
from gateway.uplink.store import UplinkStore

Send = Callable[[bytes], None]

PACKET_ID_MAX: Final = 65533
"""The two identifiers above it are for SUBSCRIBE and UNSUBSCRIBE."""


@dataclass(frozen=True, slots=True, eq=False)
class Outlet:
    """A connection's interface for a lane: functions and limits for sending."""

    send: Send
    has_room: Callable[[], bool]
    version: int
    window: int
    packet_bytes_max: int | None = None
    maximum_qos: int = 2
    may_retain: bool = True

    def adapted(self, message: Message) -> Message:
        """Return the message adapted to this broker: with a lower QoS, or not retained, if
        necessary.
        """
        qos = min(message.qos, self.maximum_qos)
        retain = message.retain and self.may_retain
        if (qos, retain) == (message.qos, message.retain):
            return message
        return replace(message, qos=qos, retain=retain)

    def packet_of(self, exchange: Exchange[Message], now: float, *, again: bool) -> bytes:
        """Return the packet to send now. `again`: the broker may have received it before."""
        if exchange.released:
            return pubrel(exchange.packet_id)
        # [MQTT-3.3.1-1] [MQTT5-3.3.1-1] DUP in every re-delivery of a PUBLISH
        return exchange.message.frame(exchange.packet_id, self.version, now, again=again)

    def hindrance(self, message: Message, now: float) -> str | None:
        """Return why a message cannot be sent, as the name of a counter; None if it can."""
        if message.has_expired(now):
            return "expired"
        frame = message.frame(1 if message.qos else 0, self.version, now, again=False)
        limit = self.packet_bytes_max
        return "too_large" if limit is not None and len(frame) > limit else None


@dataclass(frozen=True, slots=True)
class Start:
    """Exchanges that a transaction starts, and messages it gives up, with the name of the
    counter.
    """

    exchanges: list[Exchange[Message]]
    given_up: list[tuple[int, Message, str]]

    @property
    def count(self) -> int:
        """Number of messages that leave the queue: exchanges to start, and those given up."""
        return len(self.exchanges) + len(self.given_up)


class Lane:
    """Messages queued for `target`. `counters` count messages since the start of the process."""

    def __init__(self, store: UplinkStore, target: Side, *, bytes_max: int) -> None:
        self.target = target
        self.bytes_max = bytes_max
        self.exchanges: Exchanges[Message] = Exchanges(packet_id_max=PACKET_ID_MAX)
        self.exchanges.resume(store.in_flight(target))
        count, self.bytes_held = store.totals(target)
        self.waiting = count - len(self.exchanges)
        self.outlet: Outlet | None = None
        self.paused_until = 0.0
        """Seconds of the event loop's clock; set when the broker has refused something for the
        moment."""
        self.counters: Counter[str] = Counter()
        self.refusals: Counter[int] = Counter()
        """How often the message with each number was refused for an unclear reason."""
        self.gone: list[tuple[int, Message]] = []
        """Delivered or given up: to be removed with the next commit."""
        self._store = store

    @property
    def room_bytes(self) -> int:
        """Number of bytes for which the queue still has room."""
        return self.bytes_max - self.bytes_held

    @property
    def is_empty(self) -> bool:
        """True if the lane has no messages."""
        return not self.waiting and not len(self.exchanges)

    def finish(self, exchange: Exchange[Message], outcome: str) -> None:
        """Mark a message for deletion, because its exchange has ended."""
        self.counters[outcome] += 1
        self.refusals.pop(exchange.number, None)
        self.gone.append((exchange.number, exchange.message))

    def put_back(self, exchanges: Sequence[Exchange[Message]]) -> None:
        """Queue the messages of ended exchanges again."""
        self.waiting += len(exchanges)
        self.counters["republished"] += len(exchanges)

    def write_gone(self) -> None:
        """Delete the marked messages, in the store's transaction."""
        self._store.remove(self.target, [number for number, _ in self.gone])

    def removed(self, count: int) -> None:
        """Record that the deletion of the first `count` messages in `gone` is durable."""
        self.bytes_held -= sum(message.bytes_count for _, message in self.gone[:count])
        del self.gone[:count]

    def start(self, now: float, loop_seconds: float) -> "Start":
        """Start exchanges for the oldest queued messages, in the store's transaction.

        Messages that cannot be sent any more, or not to this broker, are deleted.
        """
        start = Start([], [])
        outlet = self.outlet
        limit = self.exchanges.free
        if outlet is None or not self.waiting or not limit or loop_seconds < self.paused_until:
            return start
        for number, message in self._store.waiting(self.target, limit):
            sent = outlet.adapted(message)
            hindrance = outlet.hindrance(sent, now)
            if hindrance is None:
                start.exchanges.append(self.exchanges.start(number, sent))
            else:
                start.given_up.append((number, message, hindrance))
        self._store.start(self.target, start.exchanges)
        self._store.remove(self.target, [number for number, _, _ in start.given_up])
        self.waiting -= start.count
        return start

    def take_back(self, start: "Start") -> None:
        """Undo `start` after its transaction was rolled back."""
        self.exchanges.take_back(start.exchanges)
        self.waiting += start.count

    def started(self, start: "Start") -> None:
        """Record that `start` is durable."""
        for _, message, hindrance in start.given_up:
            self.counters[hindrance] += 1
            self.bytes_held -= message.bytes_count

    def stored(self, messages: Sequence[Message]) -> None:
        """Count messages that a transaction adds."""
        self.waiting += len(messages)
        self.bytes_held += sum(each.bytes_count for each in messages)

    def unstored(self, messages: Sequence[Message]) -> None:
        """Undo `stored` after the transaction was rolled back."""
        self.waiting -= len(messages)
        self.bytes_held -= sum(each.bytes_count for each in messages)

    def forward_qos0(self, message: Message, now: float) -> None:
        """Send a QoS 0 message now, or drop it. It is not stored."""
        outlet = self.outlet
        if outlet is None or not outlet.has_room():
            self.counters["dropped_qos0"] += 1
        elif (hindrance := outlet.hindrance(outlet.adapted(message), now)) is not None:
            self.counters[hindrance] += 1
        else:
            outlet.send(outlet.adapted(message).frame(0, outlet.version, now, again=False))
            self.counters["forwarded_qos0"] += 1

    def status(self) -> dict[str, object]:
        """Return the status of this direction."""
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
"""Counters of one direction in the status; see docs/formats/control-socket.md."""
