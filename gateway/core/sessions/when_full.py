"""What a session's queue does at its limit."""

from enum import Enum


class WhenFull(Enum):
    """What a session whose queue is full does with another message."""

    DROP_NEWEST = 0
    """The message is dropped for this session: what was accepted before stays."""
    DROP_OLDEST = 1
    """It takes the place of the one that has waited longest."""
    REFUSE = 2
    """It is not acknowledged to its publisher: `gateway.core.rules.full_queues`."""
    SLOW = 3
    """While its client reads, publishers wait once the queue is half full, and nothing is dropped;
    while its client is away, as DROP_NEWEST: `gateway.core.rules.backpressure`."""
