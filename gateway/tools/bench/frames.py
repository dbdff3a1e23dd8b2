"""PUBLISH packets of one publisher as a matrix of bytes, with one row per message.

All messages of a scenario have the same length and only differ in a few columns::

    fixed header | topic name string | packet identifier u16 | property length | payload
    payload:  publisher u16 | sequence u64 | filler

u16 and u64 are big-endian integers. Only QoS 1 and 2 have the packet identifier, and only MQTT 5.0
has the property length (0x00). A burst is created from a template. Slice assignments fill the
columns of the packet identifier and the sequence number, within a few nanoseconds per message. A
received burst is correct if it equals a matrix that is filled with the expected values. The
comparison takes a single memcmp.

The sequence number counts a publisher's messages from 0. Only its two low bytes are filled for each
burst. The six high bytes change every BLOCK_MESSAGES messages, and no burst crosses the end of such
a block.
"""

from typing import Final

from gateway.broker.wire.encoder import publish_frame
from gateway.broker.wire.kinds import PUBACK, PUBCOMP, PUBREC, PUBREL
from gateway.broker.wire.packets import topic_field_of
from gateway.broker.wire.properties import Properties

BLOCK_MESSAGES: Final = 32_768
"""Number of consecutive messages with the same high bytes in the sequence number. It is also the
number of packet identifiers of a publisher (1 to 32,768), so that neither column wraps in a burst.
"""

PUBLISHER_BYTES: Final = 2
SEQUENCE_BYTES: Final = 8
PAYLOAD_BYTES_MIN: Final = PUBLISHER_BYTES + SEQUENCE_BYTES
"""Minimum bytes of a payload: publisher and sequence number, which reveal losses and
duplicates."""

PUBLISHERS_MAX: Final = 65_535

# The columns of the low and the high byte for the numbers 0 to 65,535.
_LOW: Final = bytes(range(256)) * 256
_HIGH: Final = b"".join(bytes([value]) * 256 for value in range(256))

_FILLER: Final = b"oncegate-bench:"


def identifier_of(sequence: int) -> int:
    """Return a message's packet identifier. Identifiers cycle through 1 to BLOCK_MESSAGES."""
    return sequence % BLOCK_MESSAGES + 1


def payload_of(publisher: int, sequence: int, payload_bytes: int) -> bytes:
    """Return the payload of one message: publisher, sequence number and filler."""
    filler_bytes = payload_bytes - PAYLOAD_BYTES_MIN
    filler = (_FILLER * (filler_bytes // len(_FILLER) + 1))[:filler_bytes]
    return publisher.to_bytes(2, "big") + sequence.to_bytes(8, "big") + filler


class Frames:
    """The PUBLISH packets of one publisher, which are created in bursts.

    A burst has at most `rows` messages.
    """

    def __init__(
        self, *, topic: str, publisher: int, payload_bytes: int, qos: int, version: int, rows: int
    ) -> None:
        assert 0 < rows <= BLOCK_MESSAGES
        payload = payload_of(publisher, 0, payload_bytes)
        properties: Properties | None = None
        frame = publish_frame(
            topic_field_of(topic), payload, qos, False, False, 1 if qos else 0, version, properties
        )
        self.topic = topic
        self.publisher = publisher
        self.payload_bytes = payload_bytes
        self.rows = rows
        self.row_bytes = len(frame)
        self.payload_at = len(frame) - payload_bytes
        self.sequence_at = self.payload_at + PUBLISHER_BYTES
        self.low_at = self.sequence_at + SEQUENCE_BYTES - 1
        self.identifier_at = 0
        if qos:
            self.identifier_at = self.payload_at - (3 if version == 5 else 2)
        self._matrix = bytearray(frame * rows)
        self._view = memoryview(self._matrix)
        self._high_part = 0

    def rows_of(self, sequence: int, count: int) -> int:
        """Return how many of the next `count` messages fit into one burst.

        `sequence` is the sequence number of the first message.
        """
        return min(count, self.rows, BLOCK_MESSAGES - sequence % BLOCK_MESSAGES)

    def burst_of(self, sequence: int, count: int) -> memoryview:
        """Return `count` PUBLISH packets as one burst, with this publisher's packet identifiers.

        The first message has the sequence number `sequence`. `count` must not exceed the result of
        `rows_of`. The returned memoryview is overwritten by the next call.
        """
        end = count * self.row_bytes
        self._fill_sequences(sequence, count, end)
        if self.identifier_at:
            first = identifier_of(sequence)
            row, at = self.row_bytes, self.identifier_at
            self._matrix[at:end:row] = _HIGH[first : first + count]
            self._matrix[at + 1 : end : row] = _LOW[first : first + count]
        return self._view[:end]

    def expected_of(
        self, sequence: int, count: int, identifiers: tuple[bytearray, bytearray] | None
    ) -> memoryview:
        """Return the bytes of the next `count` PUBLISH packets that a subscriber should receive.

        The first message has the sequence number `sequence`. `identifiers` contains the high bytes
        and the low bytes of the packet identifiers that the broker has used, or is None at QoS 0.
        """
        end = count * self.row_bytes
        self._fill_sequences(sequence, count, end)
        if identifiers is not None:
            row, at = self.row_bytes, self.identifier_at
            self._matrix[at:end:row], self._matrix[at + 1 : end : row] = identifiers
        return self._view[:end]

    def is_message(self, topic: str, payload: bytes) -> bool:
        """Return True if `topic` and `payload` exactly match a message from this publisher."""
        sequence = int.from_bytes(payload[PUBLISHER_BYTES:PAYLOAD_BYTES_MIN], "big")
        expected = payload_of(self.publisher, sequence, self.payload_bytes)
        return topic == self.topic and payload == expected

    def sequence_in(self, data: bytearray, position: int) -> int:
        """Return the sequence number in the row that begins at byte `position`."""
        at = position + self.sequence_at
        return int.from_bytes(data[at : at + SEQUENCE_BYTES], "big")

    def _fill_sequences(self, sequence: int, count: int, end: int) -> None:
        if sequence >> 16 != self._high_part:
            self._fill_high_part(sequence >> 16)
        row, at, low = self.row_bytes, self.low_at, sequence & 0xFFFF
        self._matrix[at - 1 : end : row] = _HIGH[low : low + count]
        self._matrix[at:end:row] = _LOW[low : low + count]

    def _fill_high_part(self, high_part: int) -> None:
        """Write `high_part`, the six high bytes of the sequence number, into all rows."""
        for index, value in enumerate(high_part.to_bytes(SEQUENCE_BYTES - 2, "big")):
            column = self.sequence_at + index
            self._matrix[column :: self.row_bytes] = bytes([value]) * self.rows
        self._high_part = high_part


def acknowledgements_of(kind: int, high: bytearray, low: bytearray) -> bytearray:
    """Return one acknowledgement packet for each packet identifier, as one burst.

    `kind` is the packet type: PUBACK, PUBREC, PUBREL or PUBCOMP. `high` contains the high bytes of
    the identifiers, and `low` the low bytes.
    """
    burst = bytearray(_ROW[kind] * len(high))
    burst[2::4] = high
    burst[3::4] = low
    return burst


_ROW: Final = {
    PUBACK: b"\x40\x02\x00\x00",
    PUBREC: b"\x50\x02\x00\x00",
    PUBREL: b"\x62\x02\x00\x00",
    PUBCOMP: b"\x70\x02\x00\x00",
}

FIRST_BYTE: Final = {kind: row[0] for kind, row in _ROW.items()}

ACKNOWLEDGEMENT_BYTES: Final = 4
"""Bytes of a short acknowledgement: first byte, remaining length 2, packet identifier u16."""

ACKNOWLEDGEMENTS: Final = {
    kind: memoryview(
        acknowledgements_of(
            kind,
            bytearray(_HIGH[1 : BLOCK_MESSAGES + 1]),
            bytearray(_LOW[1 : BLOCK_MESSAGES + 1]),
        )
    )
    for kind in _ROW
}
"""For each kind, the acknowledgements of identifiers 1 to BLOCK_MESSAGES, one after another."""


def equal_prefix(column: bytearray) -> int:
    """Return the number of bytes at the start of `column` that are equal to its first byte."""
    return len(column) - len(column.lstrip(column[:1]))
