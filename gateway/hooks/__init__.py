"""Programs of other people that watch the broker.

A module that the operator names gets every event in a thread of its own, behind a bounded queue.
This room owes the broker that nothing such a module does (raise, hang, fall behind, fail to load)
breaks it or makes it wait, and it owes the module only events that a power cut cannot take back.
It is a room of its own because these names are what such a module imports; docs/hooks.md is the
contract.
"""

from gateway.core.events import (
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
from gateway.hooks.observer import Observer

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
