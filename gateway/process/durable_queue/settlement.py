"""Effects of a broker's answers on the exchanges with it, collected for the next commit. Pure.

Answers are settled in the order in which they arrived: one that the previous connection still
delivered counts, and a lost session ends every exchange before it.
"""

from collections.abc import Iterable
from typing import Generic, Protocol

from gateway.process.durable_queue.table import Queued
from gateway.process.mqtt_client.exchanges import Exchange, Exchanges


class PacketOf(Protocol[Queued]):
    """Function that builds an exchange's packet."""

    def __call__(self, exchange: Exchange[Queued], /, *, again: bool) -> bytes:
        """Return the packet to send now. `again`: the broker may have received it before."""


class ExchangeSettlement(Generic[Queued]):
    """Changes of rows, and packets to send after they are durable."""

    def __init__(self, exchanges: Exchanges[Queued]) -> None:
        self._exchanges = exchanges
        self.released: list[Exchange[Queued]] = []
        """PUBREC was received."""
        self.returned: list[Exchange[Queued]] = []
        """Ended unfinished: their messages are queued again."""
        self.completed: list[Exchange[Queued]] = []
        """Ended by PUBCOMP or PUBACK. Their rows are removed by a later commit."""
        self.unexpected_answers = 0
        """Answers that completed no exchange."""
        self.session: str | None = None
        """Name of the session to store, empty for none. None: it has not changed."""
        self.answers: list[bytes] = []
        """Packets that answer the broker's."""

    @property
    def needs_commit(self) -> bool:
        """True if something must be durable before packets are sent."""
        return bool(self.released or self.returned or self.session is not None)

    def receive_pubrec(self, packet_id: int, pubrel: bytes) -> None:
        """Process a PUBREC, which `pubrel` answers.

        An unknown identifier is answered too, so that the broker can free it.
        """
        exchange, first = self._exchanges.receive_pubrec(packet_id)
        if exchange is not None and first:
            self.released.append(exchange)
        self.answers.append(pubrel)

    def complete(self, exchange: Exchange[Queued] | None) -> None:
        """Note the exchange that an answer has completed, if any."""
        if exchange is None:
            self.unexpected_answers += 1
        else:
            self.completed.append(exchange)

    def lose_session(self) -> None:
        """End all exchanges, because the broker no longer has the session."""
        self.released.clear()
        self.answers.clear()
        self.returned += self._exchanges.forget_all()

    def packets(
        self, started: Iterable[Exchange[Queued]], packet_of: PacketOf[Queued]
    ) -> list[bytes]:
        """Return the packets to send after the commit that has started `started`, in order."""
        # [MQTT-4.4.0-1] unacknowledged PUBLISH and PUBREL with their packet identifiers
        again = [packet_of(each, again=True) for each in self._exchanges.take_unsent()]
        return [*self.answers, *again, *(packet_of(each, again=False) for each in started)]
