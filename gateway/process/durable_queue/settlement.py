"""Collects the effects of a broker's responses, which the next commit stores.

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
        """Return the packet to send now for an exchange.

        `again` is True if the broker might have received the packet before.
        """


class ExchangeSettlement(Generic[Queued]):
    """Changes to a queue's rows, and the packets to send once these changes are durable."""

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
        """True if changes must be durable before packets are sent."""
        return bool(self.released or self.returned or self.session is not None)

    def receive_pubrec(self, packet_id: int, pubrel: bytes) -> None:
        """Process a PUBREC. `pubrel` is the encoded response.

        The response is also sent for an unknown packet identifier, so that the broker can free the
        identifier.
        """
        exchange, first = self._exchanges.receive_pubrec(packet_id)
        if exchange is not None and first:
            self.released.append(exchange)
        self.answers.append(pubrel)

    def complete(self, exchange: Exchange[Queued] | None) -> None:
        """Record an exchange as complete, or count an unexpected response if `exchange` is None."""
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
        """Return the packets to send after the exchanges `started` are committed.

        The packets are in the order in which they must be sent. `packet_of` builds the packet for
        an exchange.
        """
        # [MQTT-4.4.0-1] unacknowledged PUBLISH and PUBREL with their packet identifiers
        again = [packet_of(each, again=True) for each in self._exchanges.take_unsent()]
        return [*self.answers, *again, *(packet_of(each, again=False) for each in started)]
