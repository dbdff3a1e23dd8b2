"""Buffer of encoded packets that will be sent to one connection, in order."""

from typing import Final

from librt.strings import BytesWriter

COPIED_BYTES_MAX: Final = 1_024
"""Maximum bytes of a packet that is copied. Longer packets are not copied, so that a packet for
many subscribers is in memory only once."""


class PacketBuffer:
    """A queue of encoded packets, which `take` empties. Short packets are concatenated."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._tail: BytesWriter | None = None
        """Short packets after the last of `_parts`. Most connections are idle, so it is None."""

    def is_empty(self) -> bool:
        """Return True if the buffer is empty."""
        return self._tail is None and not self._parts

    def first_byte(self) -> int:
        """Return the first byte in the buffer, or -1 if the buffer is empty."""
        if self._parts:
            return self._parts[0][0]
        return -1 if self._tail is None else self._tail[0]

    def append(self, packets: bytes) -> None:
        """Append one packet, or the bytes of several packets joined together."""
        if len(packets) <= COPIED_BYTES_MAX:
            tail = self._tail
            if tail is None:
                tail = self._tail = BytesWriter()
            tail.write(packets)
        else:
            self._end_tail()
            self._parts.append(packets)

    def append_acknowledgement(self, first_byte: int, packet_id: int) -> None:
        """Append a PUBACK, PUBREC, PUBREL or PUBCOMP that has only a packet identifier."""
        writer = self._writer()
        writer.append(first_byte)
        writer.append(2)
        writer.append(packet_id >> 8)
        writer.append(packet_id & 0xFF)

    def _writer(self) -> BytesWriter:
        if self._tail is None:
            self._tail = BytesWriter()
        return self._tail

    def _end_tail(self) -> None:
        if self._tail is not None:
            self._parts.append(self._tail.getvalue())
            self._tail = None

    def take(self) -> list[bytes]:
        """Empty the buffer and return its contents as a short list of byte strings."""
        self._end_tail()
        parts = self._parts
        if parts:
            self._parts = []
        return parts
