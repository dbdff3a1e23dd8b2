"""What one broker has sent and not been answered for yet, and which QoS 2 messages are open. Pure.

A packet identifier of QoS 2 is held from the commit that stores its message until the commit that
follows its PUBREL. A repeat of a held one is answered and not stored again.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

from gateway.uplink.message import Message
from gateway.wire.encoder import puback, pubrec

HELD_BACK_BYTES_MAX: Final = 16 * 1024 * 1024
"""Messages in memory that the queue has no room for; beyond it the connection is closed, and the
broker keeps them in its session."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message of QoS 1 or 2 that is to be stored, and then answered."""

    message: Message
    packet_id: int

    def answer(self) -> bytes:
        """Return the acknowledgement that it is stored."""
        return puback(self.packet_id) if self.message.qos == 1 else pubrec(self.packet_id)


class Reception:
    """Of one side. `repeats` counts QoS 2 messages that came again."""

    def __init__(self, held: set[int]) -> None:
        self.held = held
        self.arrivals: deque[Arrival] = deque()
        self._open_arrivals: set[int] = set()
        self.bytes_waiting = 0
        self.bytes_coming = 0
        """Of messages that the next batch adds."""
        self.repeats = 0

    def is_repeat(self, packet_id: int) -> bool:
        """Return whether the QoS 2 message is stored already, or waits for that; count it."""
        if packet_id not in self.held and packet_id not in self._open_arrivals:
            return False
        self.repeats += 1
        return True

    def add(self, arrival: Arrival) -> None:
        """Let a message wait for the next commit with room for it."""
        self.arrivals.append(arrival)
        self.bytes_waiting += arrival.message.bytes_count
        if arrival.message.qos == 2:
            self._open_arrivals.add(arrival.packet_id)

    def fitting(self, room_bytes: int, *, is_empty: bool) -> list[Arrival]:
        """Return the first arrivals that fit; they stay until `stored`.

        `is_empty`: nothing is in the queue, so that one fits however large it is.
        """
        taken: list[Arrival] = []
        for arrival in self.arrivals:
            room_bytes -= arrival.message.bytes_count
            if room_bytes < 0 and (taken or not is_empty):
                break
            taken.append(arrival)
        return taken

    def stored(self, taken: list[Arrival]) -> None:
        """Note the commit of arrivals, the first ones."""
        for arrival in taken:
            self.arrivals.popleft()
            self.bytes_waiting -= arrival.message.bytes_count
            if arrival.message.qos == 2:
                self.held.add(arrival.packet_id)
                self._open_arrivals.discard(arrival.packet_id)

    def drop_arrivals(self) -> None:
        """Forget what is not stored: the connection ended, and the broker sends it again."""
        self.arrivals.clear()
        self._open_arrivals.clear()
        self.bytes_waiting = 0

    @property
    def is_overfull(self) -> bool:
        """Whether more waits in memory than may."""
        return self.bytes_waiting + self.bytes_coming > HELD_BACK_BYTES_MAX
