"""The interface: what a module may implement."""

from gateway.core.events import (
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
    """Watches the broker. Inherit from it and override what you want to receive.

    All methods are called in one thread, one after the other, in the order of the events. They may
    take their time: what does not fit into the queue meanwhile is lost to the observer alone.
    """

    def connected(self, event: Connected) -> None:
        """Handle the admission of a client."""

    def disconnected(self, event: Disconnected) -> None:
        """Handle the DISCONNECT of a client."""

    def lost(self, event: Lost) -> None:
        """Handle a connection that ended in any other way."""

    def subscribed(self, event: Subscribed) -> None:
        """Handle a subscription that was made or replaced."""

    def unsubscribed(self, event: Unsubscribed) -> None:
        """Handle a subscription that its client removed."""

    def published(self, event: Published) -> None:
        """Handle a message that went to its subscribers."""

    def delivered(self, event: Delivered) -> None:
        """Handle a message that reached one client."""

    def dropped(self, event: Dropped) -> None:
        """Handle a message that will not reach one client."""
