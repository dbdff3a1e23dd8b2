"""Collects the effects of a broker's responses. The next commit stores these effects.

This module does no I/O. Responses are processed in the order in which they arrived, including those
from the previous connection. If the broker has lost the session, the messages of all exchanges are
queued again.
"""

from collections.abc import Iterable
from typing import Generic, Protocol

from gateway.process.durable_queue.table import Queued
from gateway.process.mqtt_client.exchanges import Exchange, Exchanges


class PacketOf(Protocol[Queued]):
    """Type of a function that builds the packet for an exchange."""

    def __call__(self, exchange: Exchange[Queued], /, *, again: bool) -> bytes:
        """Return the packet that an exchange sends next.

        The argument `again` is True if the broker might already have received this packet.
        """


class ExchangeSettlement(Generic[Queued]):
    """The effects of a broker's responses: changes to a queue, and packets to send to the broker.

    The packets are sent after the changes have been committed.
    """

    def __init__(self, exchanges: Exchanges[Queued]) -> None:
        self._exchanges = exchanges
        self.released: list[Exchange[Queued]] = []
        """Exchanges for which PUBREC was received."""
        self.returned: list[Exchange[Queued]] = []
        """Unfinished exchanges. Their messages are queued again."""
        self.completed: list[Exchange[Queued]] = []
        """Exchanges completed by PUBCOMP or PUBACK. A later commit removes their rows."""
        self.unexpected_answers = 0
        """Number of responses that did not belong to an exchange."""
        self.session: str | None = None
        """Name of the session to store, empty for no session, or None if it has not changed."""
        self.answers: list[bytes] = []
        """Packets that respond to the broker's packets."""

    @property
    def needs_commit(self) -> bool:
        """True if a commit is necessary before the collected packets may be sent."""
        return bool(self.released or self.returned or self.session is not None)

    def receive_pubrec(self, packet_id: int, pubrel: bytes) -> None:
        """Process a PUBREC. `pubrel` is the encoded PUBREL that responds to it.

        The PUBREL is sent even if the packet identifier is unknown, so that the broker can free the
        identifier.
        """
        exchange, first = self._exchanges.receive_pubrec(packet_id)
        if exchange is not None and first:
            self.released.append(exchange)
        self.answers.append(pubrel)

    def complete(self, exchange: Exchange[Queued] | None) -> None:
        """Record that a response has completed `exchange`.

        If `exchange` is None, the response belongs to no exchange, and is counted as unexpected.
        """
        if exchange is None:
            self.unexpected_answers += 1
        else:
            self.completed.append(exchange)

    def lose_session(self) -> None:
        """Queue the messages of all exchanges again, because the broker has lost the session."""
        self.released.clear()
        self.answers.clear()
        self.returned += self._exchanges.forget_all()

    def packets(
        self, started: Iterable[Exchange[Queued]], packet_of: PacketOf[Queued]
    ) -> list[bytes]:
        """Return the packets to send to the broker after the commit, in order.

        `started` contains the exchanges that this commit starts. `packet_of` builds the packet for
        an exchange.
        """
        # [MQTT-4.4.0-1] unacknowledged PUBLISH and PUBREL with their packet identifiers
        again = [packet_of(each, again=True) for each in self._exchanges.take_unsent()]
        return [*self.answers, *again, *(packet_of(each, again=False) for each in started)]
