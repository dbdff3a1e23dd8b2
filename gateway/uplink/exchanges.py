"""The exchanges in flight towards one broker: packet identifiers, their order, their state. Pure.

::

    QoS 2: start -> awaiting PUBREC -> receive_pubrec -> awaiting PUBCOMP -> receive_pubcomp -> gone
    QoS 1: start -> awaiting PUBACK -> receive_puback -> gone

Packet identifiers are chosen here and nowhere else, so that one that stands in the store is never
given to another message. SUBSCRIBE and UNSUBSCRIBE have identifiers of their own above them.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gateway.uplink.message import Message
from gateway.wire.encoder import pubrel

SUBSCRIBE_PACKET_ID: Final = 65535
UNSUBSCRIBE_PACKET_ID: Final = 65534
PACKET_ID_MAX: Final = 65533


@dataclass(slots=True)
class Exchange:
    """`number` is the row in the store; `released`: PUBREC has come, PUBREL is next."""

    number: int
    packet_id: int
    message: Message
    released: bool = False

    def packet(self, version: int, now: float, *, again: bool) -> bytes:
        """Return the packet to send now. `again`: the broker may have received it before."""
        if self.released:
            return pubrel(self.packet_id)
        # [MQTT-3.3.1-1] [MQTT5-3.3.1-1] DUP in every re-delivery of a PUBLISH
        return self.message.frame(self.packet_id, version, now, again=again)


class Exchanges:
    """At most `window` are started; more may come out of an earlier run, or a larger window."""

    def __init__(self) -> None:
        self.window = 0
        self._by_packet_id: dict[int, Exchange] = {}
        # Started on an earlier connection and not sent on this one.
        self._unsent: deque[Exchange] = deque()
        self._last_packet_id = 0

    def __len__(self) -> int:
        return len(self._by_packet_id)

    @property
    def free(self) -> int:
        """How many exchanges more may be started."""
        return max(0, self.window - len(self._by_packet_id))

    def resume(self, exchanges: Iterable[Exchange]) -> None:
        """Take up what the store holds from the run before, in the order of its rows."""
        for exchange in exchanges:
            self._by_packet_id[exchange.packet_id] = exchange

    def begin_again(self, window: int) -> None:
        """Note a new connection: everything in flight is sent once more, PUBRELs first.

        With PUBREL the broker frees the packet identifier; it needs no more room for it.
        """
        self.window = window
        self._unsent = deque(
            sorted(self._by_packet_id.values(), key=lambda each: (not each.released, each.number))
        )

    def take_unsent(self) -> list[Exchange]:
        """Take what may be sent now: a broker may allow less than the one before did."""
        taken: list[Exchange] = []
        unsent = self._unsent
        while unsent and (
            unsent[0].released or len(self._by_packet_id) - len(unsent) < self.window
        ):
            taken.append(unsent.popleft())
        return taken

    def start(self, number: int, message: Message) -> Exchange:
        """Begin an exchange for a row of the store."""
        packet_id = self._last_packet_id
        while True:
            packet_id = packet_id % PACKET_ID_MAX + 1
            if packet_id not in self._by_packet_id:
                break
        self._last_packet_id = packet_id
        exchange = Exchange(number, packet_id, message)
        self._by_packet_id[packet_id] = exchange
        return exchange

    def take_back(self, exchanges: Iterable[Exchange]) -> None:
        """Undo `start`: the exchanges are not durable, and no packet of them was sent."""
        for exchange in exchanges:
            del self._by_packet_id[exchange.packet_id]

    def receive_pubrec(self, packet_id: int) -> tuple[Exchange | None, bool]:
        """Return the exchange, and whether this PUBREC is its first."""
        exchange = self._by_packet_id.get(packet_id)
        if exchange is None or exchange.message.qos != 2:
            return None, False
        first = not exchange.released
        exchange.released = True
        return exchange, first

    def receive_puback(self, packet_id: int) -> Exchange | None:
        """Return the exchange of QoS 1 that it completes."""
        return self._complete(packet_id, qos=1, released=False)

    def receive_pubcomp(self, packet_id: int) -> Exchange | None:
        """Return the exchange it completes; None where it answers no PUBREL that was sent.

        A PUBCOMP while PUBREC is awaited answers a repeated PUBREL of the exchange that had the
        packet identifier before.
        """
        return self._complete(packet_id, qos=2, released=True)

    def receive_refusal(self, packet_id: int) -> Exchange | None:
        """Return the exchange that a PUBREC with an error ends before PUBREL."""
        return self._complete(packet_id, qos=2, released=False)

    def forget_all(self) -> list[Exchange]:
        """End all exchanges, in the order of their rows: the broker has none of them."""
        ended = sorted(self._by_packet_id.values(), key=lambda each: each.number)
        self._by_packet_id.clear()
        self._unsent.clear()
        return ended

    def _complete(self, packet_id: int, *, qos: int, released: bool) -> Exchange | None:
        exchange = self._by_packet_id.get(packet_id)
        if exchange is None or exchange.message.qos != qos or exchange.released != released:
            return None
        del self._by_packet_id[packet_id]
        if exchange in self._unsent:
            self._unsent.remove(exchange)
        return exchange
