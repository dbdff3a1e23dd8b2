"""Public names for hook modules: `docs/hooks.md` documents them."""

from gateway.broker.hooks import (
    Connected,
    Delivered,
    Disconnected,
    Dropped,
    Event,
    Lost,
    Observer,
    Published,
    Subscribed,
    Unsubscribed,
)

__all__ = [
    "Connected",
    "Delivered",
    "Disconnected",
    "Dropped",
    "Event",
    "Lost",
    "Observer",
    "Published",
    "Subscribed",
    "Unsubscribed",
]
