"""Binary layout of records, and of the blobs that contain them.

Each record starts with its kind (`RecordKind`, one byte). Integers are little-endian. `text` is a
u16 length and UTF-8. A MESSAGE is::

    number u64 | flags u8 (QoS in bits 0-1, RETAIN in bit 2; bit 3 is set if the message is held
    until PUBREL, and room to retain it is reserved) | topic bytes u16 | payload bytes u32 |
    properties bytes u32 | topic | payload | properties

The properties section is empty, or consists of the message's expiry time (u64, milliseconds of
gateway time, 0 for never) and the forwarded MQTT 5.0 properties, encoded as on the wire without
their length. In the record of a delivery, the flags are QoS and RETAIN as sent to the receiver. Bit
3 is set if the message is sent for a shared subscription. Bit 4 is set if the message is sent for a
single subscription. In this case, the subscription's key (the CRC-32 of its filter) follows the
record.

Facts are records that change the state (`state.State` applies them). Observations do not change the
state. The recorder writes records. After a restart, `replay` reads and applies them. `events`
converts them to the session log.
"""

from struct import Struct
from typing import Final

from gateway.broker.core.records.kinds import RecordKind

# --- with a session: kind u8 | session u32 | ...
CONNECT_RECORD: Final = Struct("<BIBBHIB")
"""flags u8 (1 for clean) | protocol u8 | keep-alive u16 | session expiry u32 | address bytes u8;
the address follows"""
REASON_RECORD: Final = Struct("<BIB")  # reason u8
SUBSCRIBED_RECORD: Final = Struct("<BIBIH")  # options u8 | identifier u32 | filter text
FILTER_RECORD: Final = Struct("<BIH")  # filter text
HELD_RECORD: Final = Struct("<BIHQBHII")  # packet id u16 | MESSAGE
EXCHANGE_RECORD: Final = Struct("<BIHQ")  # packet id u16 | message u64
RELEASED_RECORD: Final = Struct("<BIHQI")  # packet id u16 | message u64 | matched u32
PUBLISHED_RECORD: Final = Struct("<BIBIQBHII")  # origin u8 | matched u32 | MESSAGE
QUEUED_RECORD: Final = Struct("<BIQBQ")  # message u64 | flags u8 | position u64
STARTED_RECORD: Final = Struct("<BIHQBQ")  # packet id u16 | message u64 | flags u8 | position u64
RESENT_RECORD: Final = Struct("<BIHQB")  # packet id u16 | message u64 | 0 PUBLISH, 1 PUBREL
QOS0_RECORD: Final = Struct("<BIQQ")  # message u64 | position u64
DROPPED_RECORD: Final = Struct("<BIQBQ")  # message u64 | reason u8 | position u64
WILL_RECORD: Final = Struct("<BIBIqHII")
"""flags u8 | delay u32 | expiry interval i64 (-1 for none) | bytes of topic u16, payload u32 and
properties u32 | topic | payload | properties"""
EXPIRY_RECORD: Final = Struct("<BII")  # session expiry u32
OWNED_RECORD: Final = Struct("<BIH")  # bytes of user name u16, then the user name
OBSERVED_RECORD: Final = Struct("<BIBHH")  # event u8 | two texts' lengths | subject | detail
# --- without a session: kind u8 | ...
RETAINED_RECORD: Final = Struct("<BQHI")  # message u64 | topic and source texts
CLEARED_RECORD: Final = Struct("<BH")  # topic text
BROKER_STARTED_RECORD: Final = Struct("<BBBB")  # recovery u8 | version, previous boot bytes u8
BROKER_STOPPED_RECORD: Final = Struct("<B")

NEVER_QUEUED: Final = 0xFFFF_FFFF_FFFF_FFFF
"""Position of a message that was not in a queue when it was dropped."""


class RecordLayout:
    """Layout of a record: fields of fixed size, followed by texts of variable length.

    `fixed` describes the fields of fixed size. `lengths` contains the indexes of the fields
    that store the lengths of the texts.
    """

    def __init__(self, fixed: Struct, lengths: tuple[int, ...] = ()) -> None:
        self.fixed = fixed
        self.size = fixed.size
        self.lengths = lengths


_EXCHANGE: Final = RecordLayout(EXCHANGE_RECORD)
_REASON: Final = RecordLayout(REASON_RECORD)
_CONNECT: Final = RecordLayout(CONNECT_RECORD, (6,))

LAYOUTS: Final[dict[int, RecordLayout]] = {
    RecordKind.SESSION_OPENED.value: _CONNECT,
    RecordKind.SESSION_RESUMED.value: _CONNECT,
    RecordKind.SESSION_CLOSED.value: _REASON,
    RecordKind.SESSION_ENDED.value: _REASON,
    RecordKind.SUBSCRIBED.value: RecordLayout(SUBSCRIBED_RECORD, (4,)),
    RecordKind.UNSUBSCRIBED.value: RecordLayout(FILTER_RECORD, (2,)),
    RecordKind.MESSAGE_HELD.value: RecordLayout(HELD_RECORD, (5, 6, 7)),
    RecordKind.DUPLICATE_SUPPRESSED.value: _EXCHANGE,
    RecordKind.MESSAGE_RELEASED.value: RecordLayout(RELEASED_RECORD),
    RecordKind.MESSAGE_ABANDONED.value: _EXCHANGE,
    RecordKind.MESSAGE_PUBLISHED.value: RecordLayout(PUBLISHED_RECORD, (6, 7, 8)),
    RecordKind.MESSAGE_QUEUED.value: RecordLayout(QUEUED_RECORD),
    RecordKind.DELIVERY_STARTED.value: RecordLayout(STARTED_RECORD),
    RecordKind.DELIVERY_RESENT.value: RecordLayout(RESENT_RECORD),
    RecordKind.DELIVERY_RECEIVED.value: _EXCHANGE,
    RecordKind.DELIVERY_COMPLETED.value: _EXCHANGE,
    RecordKind.DELIVERED_AT_QOS0.value: RecordLayout(QOS0_RECORD),
    RecordKind.MESSAGE_DROPPED.value: RecordLayout(DROPPED_RECORD),
    RecordKind.RETAINED_SET.value: RecordLayout(RETAINED_RECORD, (2, 3)),
    RecordKind.RETAINED_CLEARED.value: RecordLayout(CLEARED_RECORD, (1,)),
    RecordKind.WILL_SET.value: RecordLayout(WILL_RECORD, (5, 6, 7)),
    RecordKind.WILL_CLEARED.value: _REASON,
    RecordKind.EXPIRY_CHANGED.value: RecordLayout(EXPIRY_RECORD),
    RecordKind.SESSION_OWNED.value: RecordLayout(OWNED_RECORD, (2,)),
    RecordKind.OBSERVED.value: RecordLayout(OBSERVED_RECORD, (3, 4)),
    RecordKind.BROKER_STARTED.value: RecordLayout(BROKER_STARTED_RECORD, (2, 3)),
    RecordKind.BROKER_STOPPED.value: RecordLayout(BROKER_STOPPED_RECORD),
}
"""Layouts by record kind. In MESSAGE_QUEUED and DELIVERY_STARTED, a key (`KEY`) follows the fixed
part if the flags contain SINGLE_SUBSCRIPTION."""

# --- a batch: one blob, one fsync
BLOB_MAGIC: Final = b"OGJ2"
BLOB_HEADER: Final = Struct("<4s8s8sBQQQIIIQ")
"""magic | store | boot | clock u8 | time ms u64 | batch u64 | first sequence u64 | records u32 |
bytes of names u32 | bytes of records u32 | gateway time ms u64; names, records and a CRC-32 of all
preceding bytes follow"""
BLOB_MAGIC_PREFIX: Final = b"OGJ"
"""Prefix of blobs in every format."""
NAME_RECORD: Final = Struct("<IH")
"""session u32 | bytes of client id u16; the client id follows. Each blob contains the client ids of
its sessions."""
EXPIRES: Final = Struct("<Q")
KEY: Final = Struct("<I")
CRC: Final = Struct("<I")


def properties_section(expires_ms: int, forwarded: bytes) -> bytes:
    """Encode a message's properties section, as stored in the journal and the tables."""
    return EXPIRES.pack(expires_ms) + forwarded if forwarded or expires_ms else b""


def properties_in(section: bytes) -> tuple[int, bytes]:
    """Decode a properties section, and return the expiry time and the forwarded properties."""
    return (EXPIRES.unpack_from(section)[0], section[EXPIRES.size :]) if section else (0, b"")
