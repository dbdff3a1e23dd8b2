"""The state of the exchanges in flight with one broker. This module does no I/O.

An exchange is the sequence of packets that delivers one message::

    QoS 2: start -> awaiting PUBREC -> receive_pubrec -> awaiting PUBCOMP -> receive_pubcomp -> gone
    QoS 1: start -> awaiting PUBACK -> receive_puback -> gone

Only this module assigns packet identifiers, so an identifier in use is never assigned to another
message.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

PACKET_ID_MAX: Final = 65535


class Sent(Protocol):
    """The interface of a message that is delivered by an exchange of packets."""

    @property
    def qos(self) -> int:
        """The message's QoS, 1 or 2."""


Message = TypeVar("Message", bound=Sent)


@dataclass(slots=True)
class Exchange(Generic[Message]):
    """An exchange in flight.

    `number` is the row number of the message in the queue. `released` is True after PUBREC has been
    received. From then on, PUBREL is sent instead of PUBLISH.
    """

    number: int
    packet_id: int
    message: Message
    released: bool = False


class Exchanges(Generic[Message]):
    """The exchanges in flight with one broker.

    New exchanges are started only while there are fewer than `window`. Exchanges from an earlier
    run of the program can exceed this limit.
    """

    def __init__(self, window: int = 0, *, packet_id_max: int = PACKET_ID_MAX) -> None:
        self.window = window
        self._packet_id_max = packet_id_max
        self._by_packet_id: dict[int, Exchange[Message]] = {}
        # Exchanges from an earlier connection that are not yet sent on this connection.
        self._unsent: deque[Exchange[Message]] = deque()
        self._last_packet_id = 0

    def __len__(self) -> int:
        return len(self._by_packet_id)

    @property
    def free(self) -> int:
        """The number of exchanges that can be started now."""
        return max(0, self.window - len(self._by_packet_id))

    def resume(self, exchanges: Iterable[Exchange[Message]]) -> None:
        """Load the exchanges that an earlier run of the program has stored, in row order."""
        for exchange in exchanges:
            self._by_packet_id[exchange.packet_id] = exchange

    def begin_again(self) -> None:
        """Prepare to resend all exchanges on a new connection. PUBRELs are sent first.

        PUBRELs are not limited by the window, because each PUBREL lets the broker release a packet
        identifier.
        """
        self._unsent = deque(sorted(self.in_order(), key=lambda exchange: not exchange.released))

    def take_unsent(self) -> list[Exchange[Message]]:
        """Return the next exchanges to resend, as many as the window allows.

        On each connection, an exchange is returned only once.
        """
        taken: list[Exchange[Message]] = []
        unsent = self._unsent
        while unsent and (
            unsent[0].released or len(self._by_packet_id) - len(unsent) < self.window
        ):
            taken.append(unsent.popleft())
        return taken

    def start(self, number: int, message: Message) -> Exchange[Message]:
        """Start an exchange for the message in row `number`, with a free packet identifier."""
        packet_id = self._last_packet_id
        while True:
            packet_id = packet_id % self._packet_id_max + 1
            if packet_id not in self._by_packet_id:
                break
        self._last_packet_id = packet_id
        exchange = Exchange(number, packet_id, message)
        self._by_packet_id[packet_id] = exchange
        return exchange

    def undo_start(self, exchanges: Iterable[Exchange[Message]]) -> None:
        """Remove exchanges that were started, but neither stored nor sent."""
        for exchange in exchanges:
            del self._by_packet_id[exchange.packet_id]

    def receive_pubrec(self, packet_id: int) -> tuple[Exchange[Message] | None, bool]:
        """Mark the exchange to which a PUBREC belongs as released.

        Return the exchange, and True for its first PUBREC or False for a repeat. If no QoS 2
        exchange has this packet identifier, return None and False.
        """
        exchange = self._by_packet_id.get(packet_id)
        if exchange is None or exchange.message.qos != 2:
            return None, False
        first = not exchange.released
        exchange.released = True
        return exchange, first

    def receive_puback(self, packet_id: int) -> Exchange[Message] | None:
        """Remove and return the QoS 1 exchange that a PUBACK completes.

        Return None if no exchange matches.
        """
        return self._complete(packet_id, qos=1, released=False)

    def receive_pubcomp(self, packet_id: int) -> Exchange[Message] | None:
        """Remove and return the exchange that a PUBCOMP completes, or return None if none matches.

        A PUBCOMP is ignored if the exchange is still waiting for PUBREC. Such a PUBCOMP responds to
        a repeated PUBREL of an earlier exchange with the same packet identifier. The current
        message might not have reached the broker yet.
        """
        return self._complete(packet_id, qos=2, released=True)

    def receive_refusal(self, packet_id: int) -> Exchange[Message] | None:
        """Remove and return the exchange that ends because of a PUBREC with an error code.

        Return None if no exchange matches.
        """
        return self._complete(packet_id, qos=2, released=False)

    def in_order(self) -> list[Exchange[Message]]:
        """Return the exchanges in the order in which their messages were stored.

        MQTT requires this order for resending ([MQTT-4.6.0-1], [MQTT5-4.6.0-1]).
        """
        return sorted(self._by_packet_id.values(), key=lambda exchange: exchange.number)

    def forget_all(self) -> list[Exchange[Message]]:
        """Remove all exchanges after the broker has lost the session. Return them in row order."""
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
