"""Encoded packets for one connection, in their order, until they may leave."""

from typing import Final

from librt.strings import BytesWriter

COPIED_BYTES_MAX: Final = 1_024
"""Longer packets are kept as they are: what goes to many subscribers is in memory once."""

KEPT_BYTES_MAX: Final = 4_096
"""A longer stretch of short packets is let go of when it has left: connections are idle mostly."""


class PacketBuffer:
    """A queue of packets that is emptied as a whole. Short ones are copied behind each other."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._tail = BytesWriter()
        """The short packets behind the last of `_parts`."""

    def is_empty(self) -> bool:
        """Return whether nothing waits."""
        return not self._parts and not len(self._tail)

    def first_byte(self) -> int:
        """Return the first byte of what waits, -1 if nothing does."""
        if self._parts:
            return self._parts[0][0]
        return self._tail[0] if len(self._tail) else -1

    def append(self, packets: bytes) -> None:
        """Add one packet, or some in one piece."""
        if len(packets) <= COPIED_BYTES_MAX:
            self._tail.write(packets)
        else:
            self._end_tail()
            self._parts.append(packets)

    def append_acknowledgement(self, first_byte: int, packet_id: int) -> None:
        """Add a PUBACK, PUBREC, PUBREL or PUBCOMP that says no more than that."""
        tail = self._tail
        tail.append(first_byte)
        tail.append(2)
        tail.append(packet_id >> 8)
        tail.append(packet_id & 0xFF)

    def _end_tail(self) -> None:
        if len(self._tail):
            self._parts.append(self._tail.getvalue())
            if len(self._tail) > KEPT_BYTES_MAX:
                self._tail = BytesWriter()
            else:
                self._tail.truncate(0)

    def take(self) -> list[bytes]:
        """Empty the buffer; return what was in it, in few pieces."""
        self._end_tail()
        parts = self._parts
        if parts:
            self._parts = []
        return parts
