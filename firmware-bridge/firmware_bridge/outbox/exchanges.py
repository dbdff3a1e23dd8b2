"""The QoS 2 exchanges in flight: packet identifiers, their order and their state. Pure.

::

    start -> awaiting PUBREC -> receive_pubrec -> awaiting PUBCOMP -> receive_pubcomp -> gone

Packet identifiers are chosen here and nowhere else, so that one that stands in the outbox is never
given to another reading.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from firmware_bridge.readings.publications import Publication
from gateway.wire.encoder import publish_frame, pubrel

PACKET_ID_MAX = 65535
_MQTT_3_1_1 = 4


@dataclass(slots=True)
class Exchange:
    """`number` is the row in the outbox; `released`: PUBREC has come, PUBREL is next."""

    number: int
    packet_id: int
    publication: Publication
    released: bool = False

    def packet(self, *, again: bool) -> bytes:
        """Return the packet to send now. `again`: the broker may have received it before."""
        if self.released:
            return pubrel(self.packet_id)
        topic = self.publication.topic.encode()
        return publish_frame(
            len(topic).to_bytes(2, "big") + topic,
            self.publication.payload,
            2,
            self.publication.retain,
            again,  # [MQTT-3.3.1-1] DUP in every re-delivery of a PUBLISH
            self.packet_id,
            _MQTT_3_1_1,
            None,
        )


class Exchanges:
    """At most `window` of them are started; more may come out of an earlier outbox."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._by_packet_id: dict[int, Exchange] = {}
        # Started on an earlier connection and not sent on this one.
        self._unsent: deque[Exchange] = deque()
        self._last_packet_id = 0

    def __len__(self) -> int:
        return len(self._by_packet_id)

    @property
    def free(self) -> int:
        """How many exchanges more may be started."""
        return max(0, self._window - len(self._by_packet_id))

    def resume(self, exchanges: Iterable[Exchange]) -> None:
        """Take up what the outbox holds from the run before, in the order of its rows."""
        for exchange in exchanges:
            self._by_packet_id[exchange.packet_id] = exchange

    def begin_again(self) -> None:
        """Note a new connection: everything in flight is sent once more, PUBRELs first.

        With PUBREL the broker frees the packet identifier; it needs no more room for it.
        """
        self._unsent = deque(sorted(self.in_order(), key=lambda exchange: not exchange.released))

    def take_unsent(self) -> list[Exchange]:
        """Take what may be sent now, also where this run has a smaller window than the last."""
        taken: list[Exchange] = []
        unsent = self._unsent
        while unsent and (
            unsent[0].released or len(self._by_packet_id) - len(unsent) < self._window
        ):
            taken.append(unsent.popleft())
        return taken

    def start(self, number: int, publication: Publication) -> Exchange:
        """Begin an exchange for a row of the outbox."""
        packet_id = self._last_packet_id
        while True:
            packet_id = packet_id % PACKET_ID_MAX + 1
            if packet_id not in self._by_packet_id:
                break
        self._last_packet_id = packet_id
        exchange = Exchange(number, packet_id, publication)
        self._by_packet_id[packet_id] = exchange
        return exchange

    def take_back(self, exchanges: Iterable[Exchange]) -> None:
        """Undo `start`: the exchanges are not durable, and no packet of them was sent."""
        for exchange in exchanges:
            del self._by_packet_id[exchange.packet_id]

    def receive_pubrec(self, packet_id: int) -> tuple[Exchange | None, bool]:
        """Return the exchange, and whether this PUBREC is its first."""
        exchange = self._by_packet_id.get(packet_id)
        if exchange is None:
            return None, False
        first = not exchange.released
        exchange.released = True
        return exchange, first

    def receive_pubcomp(self, packet_id: int) -> Exchange | None:
        """Return the exchange it completes; None where it answers no PUBREL that was sent.

        A PUBCOMP while PUBREC is awaited answers a repeated PUBREL of the exchange that had the
        identifier before. Taking it for this one's would remove a reading the broker still holds.
        """
        exchange = self._by_packet_id.get(packet_id)
        if exchange is None or not exchange.released:
            return None
        return self._by_packet_id.pop(packet_id)

    def in_order(self) -> list[Exchange]:
        """Return them as they were started. [MQTT-4.6.0-1]"""
        return sorted(self._by_packet_id.values(), key=lambda exchange: exchange.number)

    def forget_all(self) -> list[Exchange]:
        """End every exchange, because the broker has no session: its reading waits again."""
        forgotten = self.in_order()
        self._by_packet_id.clear()
        self._unsent.clear()
        return forgotten
