"""Unacknowledged messages from a broker, and the packet identifiers of its open QoS 2 exchanges.

This module does no I/O. At QoS 2, the commit that stores a message also stores its packet
identifier. The commit after PUBREL deletes the identifier. If a message arrives again while its
identifier is stored, it is acknowledged, but not stored again.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

from gateway.broker.wire.acknowledgement_encoder import puback, pubrec
from gateway.uplink.message import Message

HELD_BACK_BYTES_MAX: Final = 16 * 1024 * 1024
"""Maximum size of messages kept in memory while the queue is full.

Above it the connection is closed, and the broker keeps the messages in its session.
"""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A received QoS 1 or 2 message. It is acknowledged after it has been stored."""

    message: Message
    packet_id: int

    def answer(self) -> bytes:
        """Return the packet that acknowledges the message: PUBACK or PUBREC."""
        return puback(self.packet_id) if self.message.qos == 1 else pubrec(self.packet_id)


class Reception:
    """Messages received from one broker.

    The attribute `held` contains the packet identifiers that are stored on disk. `repeats` is the
    number of QoS 2 messages that were received again.
    """

    def __init__(self, held: set[int]) -> None:
        self.held = held
        self.arrivals: deque[Arrival] = deque()
        self._open_arrivals: set[int] = set()
        self.bytes_waiting = 0
        self.bytes_coming = 0
        """Total bytes of the messages that were passed to the committer, but not yet queued with
        `add`."""
        self.repeats = 0

    def is_repeat(self, packet_id: int) -> bool:
        """Return True if a QoS 2 message was already received, and count the repeat.

        The earlier copy is stored or waiting for a commit.
        """
        if packet_id not in self.held and packet_id not in self._open_arrivals:
            return False
        self.repeats += 1
        return True

    def add(self, arrival: Arrival) -> None:
        """Queue a message. The next commit with enough room stores it."""
        self.arrivals.append(arrival)
        self.bytes_waiting += arrival.message.bytes_count
        if arrival.message.qos == 2:
            self._open_arrivals.add(arrival.packet_id)

    def fitting(self, room_bytes: int, *, is_empty: bool) -> list[Arrival]:
        """Return the oldest queued messages that fit into `room_bytes` bytes.

        They stay queued until `stored` is called. The argument `is_empty` is True if the target
        queue is empty. Then the oldest message is returned even if it does not fit.
        """
        taken: list[Arrival] = []
        for arrival in self.arrivals:
            room_bytes -= arrival.message.bytes_count
            if room_bytes < 0 and (taken or not is_empty):
                break
            taken.append(arrival)
        return taken

    def stored(self, taken: list[Arrival]) -> None:
        """Remove `taken` from the front of the queue, after a commit has stored these messages."""
        for arrival in taken:
            self.arrivals.popleft()
            self.bytes_waiting -= arrival.message.bytes_count
            if arrival.message.qos == 2:
                self.held.add(arrival.packet_id)
                self._open_arrivals.discard(arrival.packet_id)

    def drop_arrivals(self) -> None:
        """Discard unstored messages after the connection has ended. The broker will resend them."""
        self.arrivals.clear()
        self._open_arrivals.clear()
        self.bytes_waiting = 0

    @property
    def is_overfull(self) -> bool:
        """True if more than `HELD_BACK_BYTES_MAX` bytes are waiting in memory."""
        return self.bytes_waiting + self.bytes_coming > HELD_BACK_BYTES_MAX
