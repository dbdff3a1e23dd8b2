"""Hooks: a Python module of the operator that observes the broker.

The module receives every event in a thread of its own, through a bounded queue. Whatever it does
(raise, hang, fall behind, fail to load), it neither breaks nor delays the broker. It receives only
events that a power cut cannot undo. Such modules import the names of this package, which is why it
is a package of its own. docs/hooks.md is its documentation.
"""

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
