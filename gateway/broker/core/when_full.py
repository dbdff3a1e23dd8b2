"""Behaviour of a session's queue when it reaches its limit."""

from enum import Enum


class WhenFull(Enum):
    """Behaviour of a session whose queue is full when another message arrives."""

    DROP_NEWEST = 0
    """The new message is dropped for this session. Older messages are kept."""
    DROP_OLDEST = 1
    """The oldest queued message is dropped in favour of the new one."""
    REFUSE = 2
    """The publisher gets no acknowledgement: see `rules.full_queues`."""
    SLOW = 3
    """While the client is connected and reads, publishers wait once the queue is half full, and
    nothing is dropped. While the client is away, new messages are dropped. See
    `rules.deliver.backpressure`."""
