"""The records of every message, written field by field.

They are those of `layout` (`HELD_RECORD` and so on, which read them). Compiled, a BytesWriter takes
an integer as it is; a Struct would have each one made an object first, which costs ten times as
much and is a tenth of what the broker does. Rare records are packed.
"""

from librt.strings import BytesWriter, write_i32_le, write_i64_le


def write_u16(records: BytesWriter, value: int) -> None:
    records.append(value & 0xFF)
    records.append(value >> 8)


def write_u32(records: BytesWriter, value: int) -> None:
    write_i32_le(records, value if value < 0x8000_0000 else value - 0x1_0000_0000)


def write_u64(records: BytesWriter, value: int) -> None:
    """Write a number that counts from 0: it does not reach the uppermost bit."""
    write_i64_le(records, value)


def write_head(records: BytesWriter, kind: int, session: int) -> None:
    """Write what every record of a session begins with."""
    records.append(kind)
    write_u32(records, session)


def write_exchange(
    records: BytesWriter, kind: int, session: int, packet_id: int, message: int
) -> None:
    """Write INBOUND_RECORD or OUTBOUND_RECORD, or what others begin with."""
    write_head(records, kind, session)
    write_u16(records, packet_id)
    write_u64(records, message)


def write_delivery(
    records: BytesWriter, flags: int, position: int, key: int, has_key: bool
) -> None:
    """Write what QUEUED_RECORD and STARTED_RECORD end with."""
    records.append(flags)
    write_u64(records, position)
    if has_key:
        write_u32(records, key)


def write_contents(
    records: BytesWriter, flags: int, topic: bytes, payload: bytes, properties: bytes
) -> None:
    """Write a MESSAGE behind its number."""
    records.append(flags)
    write_u16(records, len(topic))
    write_u32(records, len(payload))
    write_u32(records, len(properties))
    records.write(topic)
    records.write(payload)
    records.write(properties)
