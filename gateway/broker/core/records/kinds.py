"""Kinds of journal records, and enumerations for the fields of records.

The values are stored in journals, so existing values never change, but new values may be added. The
session log uses the names in lower case. In compiled code, reading a member of an enumeration costs
no more than a literal (docs/decisions/0077-records-are-read-once.md).
"""

from gateway.broker.core.word import Word


class RecordKind(Word):
    """Kinds of records. The first byte of each record is the number of its kind."""

    # Facts and observations about a session.
    SESSION_OPENED = 1
    SESSION_RESUMED = 2
    SESSION_CLOSED = 3
    SESSION_ENDED = 4
    SUBSCRIBED = 5
    UNSUBSCRIBED = 6
    MESSAGE_HELD = 7
    DUPLICATE_SUPPRESSED = 8
    MESSAGE_RELEASED = 9
    MESSAGE_ABANDONED = 10
    MESSAGE_PUBLISHED = 11
    MESSAGE_QUEUED = 12
    DELIVERY_STARTED = 13
    DELIVERY_RESENT = 14
    DELIVERY_RECEIVED = 15
    DELIVERY_COMPLETED = 16
    DELIVERED_AT_QOS0 = 17
    MESSAGE_DROPPED = 18
    # Records about a topic, without a session.
    RETAINED_CLEARED = 20
    RETAINED_SET = 25
    # Further facts about a session.
    WILL_SET = 21
    WILL_CLEARED = 22
    EXPIRY_CHANGED = 23
    SESSION_OWNED = 24
    # Records about the broker. An observation may name a session.
    OBSERVED = 30
    BROKER_STARTED = 40
    BROKER_STOPPED = 41


class CloseReason(Word):
    """The reason why a network connection ended."""

    DISCONNECT = 0
    NETWORK = 1
    KEEP_ALIVE = 2
    TAKEOVER = 3
    PROTOCOL_ERROR = 4
    KICKED = 5
    SLOW = 6
    SHUTDOWN = 7
    RESTART = 8


class EndReason(Word):
    """The reason why a session ended."""

    CLEAN_START = 0
    CLEAN_SESSION = 1
    EXPIRED = 2
    DROPPED = 3


class DropReason(Word):
    """The reason why a message was not delivered to a receiver."""

    QUEUE_FULL = 0
    QUEUE_BYTES = 1
    TOO_LARGE = 2
    EXPIRED = 3
    CONTENTS_LOST = 4
    REFUSED = 5
    DISPLACED = 6
    """Dropped from the front of a queue in favour of a newer message."""


class WillClearReason(Word):
    """The reason why a will was removed."""

    DISCONNECT = 0
    PUBLISHED = 1
    REPLACED = 2
    REFUSED = 3


class Origin(Word):
    """The origin of a message: a client, a client's will, or the gateway itself."""

    CLIENT = 0
    WILL = 1
    GATEWAY = 2


class StartKind(Word):
    """The condition of the stored data at the broker's start."""

    NEW = 0
    CLEAN = 1
    UNCLEAN = 2
    SALVAGED = 3


class Observation(Word):
    """Kinds of observations: events that are recorded but do not change the state."""

    LIMIT_HIT = 0
    PROTOCOL_ERROR = 1
    CLOCK_STEPPED = 2
    STORE_DAMAGED = 3
    LOG_TRUNCATED = 4
    SERIAL_PORT_FOUND = 5
    SERIAL_PORT_LOST = 6
    CLOCK_READ = 7
    OPERATED = 8
