"""The names that hook modules may import. `docs/hooks.md` documents these names."""

from gateway.broker.core.events import (
    Connected,
    Delivered,
    Disconnected,
    Dropped,
    Event,
    Lost,
    Published,
    Subscribed,
    Unsubscribed,
)
from gateway.broker.hooks.observer import Observer

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
