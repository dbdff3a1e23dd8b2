"""Behaviour of a session's queue at its limit."""

from enum import Enum


class WhenFull(Enum):
    """Behaviour of a session whose queue is full when another message arrives."""

    DROP_NEWEST = 0
    """The message is dropped for this session; older ones are kept."""
    DROP_OLDEST = 1
    """The oldest queued message is dropped for it."""
    REFUSE = 2
    """The publisher gets no acknowledgement: `rules.full_queues`."""
    SLOW = 3
    """While its client reads, publishers wait once the queue is half full, and nothing is dropped;
    while its client is away, like DROP_NEWEST: `rules.deliver.backpressure`."""
