"""The interface that the operator's hook module may implement."""

from gateway.broker.core.events import (
    Connected,
    Delivered,
    Disconnected,
    Dropped,
    Lost,
    Published,
    Subscribed,
    Unsubscribed,
)


class Observer:
    """Base class for observers. Override the methods for the events that you need.

    All methods are called in one thread, one after another, in the order of the events. The methods
    can be slow. If the queue of events fills up in the meantime, only this observer misses events.
    """

    def connected(self, event: Connected) -> None:
        """Handle the connection of a client to the broker."""

    def disconnected(self, event: Disconnected) -> None:
        """Handle a client's DISCONNECT packet."""

    def lost(self, event: Lost) -> None:
        """Handle a connection that ended without a DISCONNECT packet."""

    def subscribed(self, event: Subscribed) -> None:
        """Handle a subscription that a client added or replaced."""

    def unsubscribed(self, event: Unsubscribed) -> None:
        """Handle a subscription that a client removed."""

    def published(self, event: Published) -> None:
        """Handle a message that was forwarded to its subscribers."""

    def delivered(self, event: Delivered) -> None:
        """Handle a message that was delivered to one client."""

    def dropped(self, event: Dropped) -> None:
        """Handle a message that will not reach a client."""
