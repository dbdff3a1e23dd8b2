"""The closed set of facts and observations, as they stand in a journal blob.

Each record begins with its kind (one byte). Integers are little-endian; `text` is a u16 length and
UTF-8. A MESSAGE is::

    number u64 | flags u8 (QoS in bits 0-1, RETAIN bit 2, bit 3: held, it has a place among the
    retained messages) | topic bytes u16 | payload bytes u32 | properties bytes u32 | topic |
    payload | properties

The properties are those of MQTT 5.0 that are passed on, as on the wire without their length, after
the time at which the message expires (u64, milliseconds of gateway time, 0: never); no bytes at all
if there is neither. A delivery's flags are the message's, as delivered, bit 3: it came through a
shared subscription, and bit 4: it came through one subscription whose key (CRC-32 of its filter)
follows the record.

Facts change the state (`state.State` applies them); observations only tell what happened. The
recorder writes them, `replay` applies them again after a restart, `reader` reads them for the
session log.
"""

from struct import Struct
from typing import Final

# --- facts and observations about a session: kind u8 | session u32 | ...
SESSION_OPENED: Final = 1
SESSION_RESUMED: Final = 2
SESSION_CLOSED: Final = 3
SESSION_ENDED: Final = 4
SUBSCRIBED: Final = 5
UNSUBSCRIBED: Final = 6
MESSAGE_HELD: Final = 7
DUPLICATE_SUPPRESSED: Final = 8
MESSAGE_RELEASED: Final = 9
MESSAGE_ABANDONED: Final = 10
MESSAGE_PUBLISHED: Final = 11
MESSAGE_QUEUED: Final = 12
DELIVERY_STARTED: Final = 13
DELIVERY_RESENT: Final = 14
DELIVERY_RECEIVED: Final = 15
DELIVERY_COMPLETED: Final = 16
DELIVERED_AT_QOS0: Final = 17
MESSAGE_DROPPED: Final = 18
RETAINED_SET: Final = 19
RETAINED_CLEARED: Final = 20
WILL_SET: Final = 21
WILL_CLEARED: Final = 22
EXPIRY_CHANGED: Final = 23
SESSION_OWNED: Final = 24
OBSERVED: Final = 30
BROKER_STARTED: Final = 40
BROKER_STOPPED: Final = 41

CONNECT_RECORD: Final = Struct("<BIBBHIB")
"""flags u8 (1: clean) | protocol u8 | keep-alive u16 | session expiry u32 | address bytes u8, then
the address"""
REASON_RECORD: Final = Struct("<BIB")  # reason u8
SUBSCRIBED_RECORD: Final = Struct("<BIBIH")  # options u8 | identifier u32 | filter text
FILTER_RECORD: Final = Struct("<BIH")  # filter text
HELD_RECORD: Final = Struct("<BIHQBHII")  # packet id u16 | MESSAGE
INBOUND_RECORD: Final = Struct("<BIHQ")  # packet id u16 | message u64
RELEASED_RECORD: Final = Struct("<BIHQI")  # packet id u16 | message u64 | matched u32
PUBLISHED_RECORD: Final = Struct("<BIBIQBHII")  # origin u8 | matched u32 | MESSAGE
QUEUED_RECORD: Final = Struct("<BIQBQ")  # message u64 | flags u8 | position u64
STARTED_RECORD: Final = Struct("<BIHQBQ")  # packet id u16 | message u64 | flags u8 | position u64
RESENT_RECORD: Final = Struct("<BIHQB")  # packet id u16 | message u64 | 0 PUBLISH, 1 PUBREL
OUTBOUND_RECORD: Final = Struct("<BIHQ")  # packet id u16 | message u64
QOS0_RECORD: Final = Struct("<BIQQ")  # message u64 | position u64
DROPPED_RECORD: Final = Struct("<BIQBQ")  # message u64 | reason u8 | position u64
RETAINED_RECORD: Final = Struct("<BQH")  # message u64 | topic text (no session)
CLEARED_RECORD: Final = Struct("<BH")  # topic text (no session)
WILL_RECORD: Final = Struct("<BIBIqHII")
"""flags u8 | delay u32 | expiry interval i64 (-1: none) | bytes of topic u16, payload u32 and
properties u32 | topic | payload | properties"""
EXPIRY_RECORD: Final = Struct("<BII")  # session expiry u32
OWNED_RECORD: Final = Struct("<BIH")  # bytes of user name u16, then the user name
OBSERVED_RECORD: Final = Struct("<BIBHH")  # event u8 | two texts' lengths | subject | detail
BROKER_STARTED_RECORD: Final = Struct("<BBBB")  # recovery u8 | version, previous boot bytes u8
BROKER_STOPPED_RECORD: Final = Struct("<B")

# Reasons, written as their index.
CLOSE_REASONS: Final = (
    "disconnect",
    "network",
    "keep_alive",
    "takeover",
    "protocol_error",
    "kicked",
    "slow",
    "shutdown",
    "restart",
)
END_REASONS: Final = ("clean_start", "clean_session", "expired", "dropped")
DROP_REASONS: Final = ("queue_full", "queue_bytes", "too_large", "expired", "contents_lost")
NEVER_QUEUED: Final = 0xFFFF_FFFF_FFFF_FFFF
"""The position of a message that was dropped before it entered a queue."""
WILL_CLEAR_REASONS: Final = ("disconnect", "published", "replaced")
ORIGINS: Final = ("client", "will", "gateway")
RECOVERIES: Final = ("new", "clean", "unclean", "salvaged")
CLOCKS: Final = ("unknown", "unsynchronised", "synchronised")
OBSERVATIONS: Final = (
    "limit_hit",
    "protocol_error",
    "clock_stepped",
    "store_damaged",
    "log_truncated",
    "serial_port_found",
    "serial_port_lost",
    "clock_read",
)

# A batch: one blob, one row, one fsync.
BLOB_MAGIC: Final = b"OGJ2"
BLOB_HEADER: Final = Struct("<4s8s8sBQQQIIIQ")
"""magic | store | boot | clock u8 | time ms u64 | batch u64 | first sequence u64 |
records u32 | bytes of names u32 | bytes of records u32 | gateway time ms u64; then names, records,
CRC-32 of it all."""
BLOB_MAGIC_1: Final = b"OGJ1"
BLOB_HEADER_1: Final = Struct("<4s8s8sBQQQIII")
"""The same without gateway time, which was wall time: what blobs of the first format begin with,
and those of the second as well."""
BLOB_MAGIC_PREFIX: Final = b"OGJ"
"""What blobs of every format begin with."""
NAME_RECORD: Final = Struct("<IH")
"""session u32 | bytes of client id u16; then the client id. Each blob names its own sessions."""
EXPIRES: Final = Struct("<Q")
KEY: Final = Struct("<I")
CRC: Final = Struct("<I")
