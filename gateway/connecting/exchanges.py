"""The exchanges in flight towards one broker: packet identifiers, their order, their state. Pure.

::

    QoS 2: start -> awaiting PUBREC -> receive_pubrec -> awaiting PUBCOMP -> receive_pubcomp -> gone
    QoS 1: start -> awaiting PUBACK -> receive_puback -> gone

Packet identifiers are chosen here and nowhere else, so that one that is stored is never given to
another message.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

PACKET_ID_MAX: Final = 65535


class Sent(Protocol):
    """What an exchange carries."""

    @property
    def qos(self) -> int:
        """1 or 2."""


Message = TypeVar("Message", bound=Sent)


@dataclass(slots=True)
class Exchange(Generic[Message]):
    """`number` is the message's row; `released`: PUBREC has come, PUBREL is next."""

    number: int
    packet_id: int
    message: Message
    released: bool = False


class Exchanges(Generic[Message]):
    """At most `window` are started; more may come out of an earlier run, or a larger window."""

    def __init__(self, window: int = 0, *, packet_id_max: int = PACKET_ID_MAX) -> None:
        self.window = window
        self._packet_id_max = packet_id_max
        self._by_packet_id: dict[int, Exchange[Message]] = {}
        # Started on an earlier connection and not sent on this one.
        self._unsent: deque[Exchange[Message]] = deque()
        self._last_packet_id = 0

    def __len__(self) -> int:
        return len(self._by_packet_id)

    @property
    def free(self) -> int:
        """How many exchanges more may be started."""
        return max(0, self.window - len(self._by_packet_id))

    def resume(self, exchanges: Iterable[Exchange[Message]]) -> None:
        """Take up what is stored from the run before, in the order of its rows."""
        for exchange in exchanges:
            self._by_packet_id[exchange.packet_id] = exchange

    def begin_again(self) -> None:
        """Note a new connection: everything in flight is sent once more, PUBRELs first.

        With PUBREL the broker frees the packet identifier; it needs no more room for it.
        """
        self._unsent = deque(sorted(self.in_order(), key=lambda exchange: not exchange.released))

    def take_unsent(self) -> list[Exchange[Message]]:
        """Take what may be sent now, also where the window is smaller than it was."""
        taken: list[Exchange[Message]] = []
        unsent = self._unsent
        while unsent and (
            unsent[0].released or len(self._by_packet_id) - len(unsent) < self.window
        ):
            taken.append(unsent.popleft())
        return taken

    def start(self, number: int, message: Message) -> Exchange[Message]:
        """Begin an exchange for a row."""
        packet_id = self._last_packet_id
        while True:
            packet_id = packet_id % self._packet_id_max + 1
            if packet_id not in self._by_packet_id:
                break
        self._last_packet_id = packet_id
        exchange = Exchange(number, packet_id, message)
        self._by_packet_id[packet_id] = exchange
        return exchange

    def take_back(self, exchanges: Iterable[Exchange[Message]]) -> None:
        """Undo `start`: the exchanges are not durable, and no packet of them was sent."""
        for exchange in exchanges:
            del self._by_packet_id[exchange.packet_id]

    def receive_pubrec(self, packet_id: int) -> tuple[Exchange[Message] | None, bool]:
        """Return the exchange, and whether this PUBREC is its first."""
        exchange = self._by_packet_id.get(packet_id)
        if exchange is None or exchange.message.qos != 2:
            return None, False
        first = not exchange.released
        exchange.released = True
        return exchange, first

    def receive_puback(self, packet_id: int) -> Exchange[Message] | None:
        """Return the exchange of QoS 1 that it completes."""
        return self._complete(packet_id, qos=1, released=False)

    def receive_pubcomp(self, packet_id: int) -> Exchange[Message] | None:
        """Return the exchange it completes; None where it answers no PUBREL that was sent.

        A PUBCOMP while PUBREC is awaited answers a repeated PUBREL of the exchange that had the
        packet identifier before. To take it for this one's would remove a message that the broker
        still holds.
        """
        return self._complete(packet_id, qos=2, released=True)

    def receive_refusal(self, packet_id: int) -> Exchange[Message] | None:
        """Return the exchange that a PUBREC with an error ends before PUBREL."""
        return self._complete(packet_id, qos=2, released=False)

    def in_order(self) -> list[Exchange[Message]]:
        """Return them as they were started. [MQTT-4.6.0-1] [MQTT5-4.6.0-1]"""
        return sorted(self._by_packet_id.values(), key=lambda exchange: exchange.number)

    def forget_all(self) -> list[Exchange[Message]]:
        """End all exchanges, in the order of their rows: the broker has none of them."""
        ended = self.in_order()
        self._by_packet_id.clear()
        self._unsent.clear()
        return ended

    def _complete(self, packet_id: int, *, qos: int, released: bool) -> Exchange[Message] | None:
        exchange = self._by_packet_id.get(packet_id)
        if exchange is None or exchange.message.qos != qos or exchange.released != released:
            return None
        del self._by_packet_id[packet_id]
        if exchange in self._unsent:
            self._unsent.remove(exchange)
        return exchange
