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
    """Watches the broker. Inherit from it and override what you want to hear of.

    All methods are called in one thread, one after the other, in the order of the events. They may
    take their time: what does not fit into the queue meanwhile is lost to the observer alone.
    """

    def connected(self, event: Connected) -> None:
        """A client was let in."""

    def disconnected(self, event: Disconnected) -> None:
        """A client said DISCONNECT."""

    def lost(self, event: Lost) -> None:
        """A connection ended in any other way."""

    def subscribed(self, event: Subscribed) -> None:
        """A subscription was made or replaced."""

    def unsubscribed(self, event: Unsubscribed) -> None:
        """A subscription was given up."""

    def published(self, event: Published) -> None:
        """A message went to its subscribers."""

    def delivered(self, event: Delivered) -> None:
        """A message reached one client."""

    def dropped(self, event: Dropped) -> None:
        """A message will not reach one client."""
