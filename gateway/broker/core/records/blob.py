"""A journal blob: header, client ids, records and CRC-32. See docs/formats/journal.md.

A reader checks the CRC first, and then every length. A damaged blob is reported, and its contents
are not used.
"""

from struct import error as StructError
from typing import Final
from zlib import crc32

from gateway.broker.core.gateway_time import ClockQuality
from gateway.broker.core.records import layout

_CLOCKS: Final = list(ClockQuality)


class DamagedBlob(ValueError):
    """Error raised if a blob is truncated or altered, or has an unknown version."""


class Blob:
    """A parsed blob: its header, the client ids of its sessions, and the offset of its records."""

    def __init__(self, data: bytes) -> None:
        if len(data) < layout.BLOB_HEADER.size + layout.CRC.size:
            raise DamagedBlob(f"{len(data)} bytes are less than the header of a journal blob")
        if data[:4] != layout.BLOB_MAGIC:
            raise DamagedBlob(f"begins with {data[:4]!r}, expected {layout.BLOB_MAGIC!r}")
        if not has_valid_crc(data):
            raise DamagedBlob("the CRC does not match the contents")
        fields = layout.BLOB_HEADER.unpack_from(data)
        self.data = data
        self.store = bytes(fields[1]).hex()
        self.boot = bytes(fields[2]).hex()
        clock: int = fields[3]
        self.clock = _CLOCKS[clock] if clock < len(_CLOCKS) else ClockQuality.UNKNOWN
        self.time_ms: int = fields[4]
        """Wall time in milliseconds since 1970."""
        self.number: int = fields[5]
        self.first_sequence: int = fields[6]
        self.record_count: int = fields[7]
        names_bytes: int = fields[8]
        self.gateway_ms: int = fields[10]
        """Gateway time in milliseconds."""
        self.names_at = layout.BLOB_HEADER.size
        self.records_at = self.names_at + names_bytes
        self.records_end = self.records_at + int(fields[9])
        if self.records_end + layout.CRC.size != len(data):
            raise DamagedBlob("the lengths in the header do not add up to the blob's length")
        try:
            self.names = self._names()
        except (StructError, UnicodeDecodeError) as error:
            raise DamagedBlob(f"the names of its sessions: {error}") from error

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record in the blob.

        If the blob has no records, this is one less than the first sequence number.
        """
        return self.first_sequence + self.record_count - 1

    def _names(self) -> dict[int, str]:
        names: dict[int, str] = {}
        at = self.names_at
        while at < self.records_at:
            number, length = layout.NAME_RECORD.unpack_from(self.data, at)
            at += layout.NAME_RECORD.size
            names[number] = self.data[at : at + length].decode()
            at += length
        return names


def has_valid_crc(data: bytes) -> bool:
    """Return True if a blob (of any version) ends with the correct CRC-32 of its other bytes."""
    crc: int = layout.CRC.unpack(data[-layout.CRC.size :])[0]
    return crc32(memoryview(data)[: -layout.CRC.size]) == crc


def packed(header: bytes, names: bytes, records: bytes) -> bytes:
    """Assemble a blob from its three parts and append the CRC."""
    body = b"".join((header, names, records))
    return body + layout.CRC.pack(crc32(body))


def joined(parts: list[Blob]) -> bytes:
    """Combine blobs that contain consecutive parts of a batch into one blob."""
    fields = list(layout.BLOB_HEADER.unpack_from(parts[-1].data))
    names = b"".join(part.data[part.names_at : part.records_at] for part in parts)
    records = b"".join(part.data[part.records_at : part.records_end] for part in parts)
    fields[6] = parts[0].first_sequence
    fields[7] = sum(part.record_count for part in parts)
    fields[8], fields[9] = len(names), len(records)
    return packed(layout.BLOB_HEADER.pack(*fields), names, records)
