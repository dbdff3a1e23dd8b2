"""Messages in flight in one direction of a session, keyed by packet identifier.

Packet identifiers are defined in MQTT 3.1.1 section 2.3.1. A message in flight is called an
exchange. It is stored in a slot, whose index is the packet identifier modulo the number of slots.
Clients choose ascending identifiers and have few messages in flight, so two exchanges rarely need
the same slot. If they do, the later exchange is stored in a dict. Storing all exchanges in a dict
would be slower, because Python creates a new object for each identifier above 256, and must then
compare dict keys by value.
"""

from collections.abc import Iterator
from typing import Final, Generic, TypeVar

from mypy_extensions import mypyc_attr

SLOTS_MIN: Final = 8
"""Initial number of slots. It is doubled when more than half of the slots are used."""

_NO_SLOTS: Final[list[None]] = [None]
"""Slots shared by all empty tables that never had an exchange. Nothing is ever stored here."""


@mypyc_attr(acyclic=True)
class Exchange:
    """A message in flight, with its packet identifier."""

    packet_id: int
    order: int
    """Position among all exchanges that were ever in the same table."""


E = TypeVar("E", bound=Exchange)


class PacketIdentifiers(Generic[E]):
    """Exchanges keyed by packet identifier, in the order in which they were added."""

    def __init__(self) -> None:
        self._slots: list[E | None] = _NO_SLOTS  # type: ignore[assignment]
        self._mask = 0
        self._collisions: dict[int, E] | None = None
        """Exchanges whose slot was already used by another exchange."""
        self._count = 0
        self._last_order = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, packet_id: int) -> bool:
        return self.get(packet_id) is not None

    def __iter__(self) -> Iterator[int]:
        return iter([exchange.packet_id for exchange in self.values()])

    def get(self, packet_id: int) -> E | None:
        """Return the exchange with this packet identifier, or None if it does not exist."""
        exchange = self._slots[packet_id & self._mask]
        if exchange is not None and exchange.packet_id == packet_id:
            return exchange
        return None if self._collisions is None else self._collisions.get(packet_id)

    def values(self) -> list[E]:
        """Return all exchanges, in the order in which they were added or moved to the end."""
        exchanges = [exchange for exchange in self._slots if exchange is not None]
        if self._collisions is not None:
            exchanges.extend(self._collisions.values())
        exchanges.sort(key=_order_of)
        return exchanges

    def put(self, exchange: E) -> None:
        """Add an exchange at the end, replacing any exchange with the same packet identifier."""
        packet_id = exchange.packet_id
        if 2 * self._count >= self._mask:
            self._grow()
        if self._collisions is not None and self._collisions.pop(packet_id, None) is not None:
            self._count -= 1
        before = self._slots[packet_id & self._mask]
        if before is None or before.packet_id == packet_id:
            self._slots[packet_id & self._mask] = exchange
            self._count += before is None
        else:
            self._add_collision(exchange)
            self._count += 1
        self.move_to_end(exchange)

    def move_to_end(self, exchange: E) -> None:
        """Move an exchange to the end of the order."""
        self._last_order += 1
        exchange.order = self._last_order

    def remove(self, packet_id: int) -> bool:
        """Remove the exchange with this packet identifier. Return True if there was one."""
        exchange = self._slots[packet_id & self._mask]
        if exchange is not None and exchange.packet_id == packet_id:
            self._slots[packet_id & self._mask] = None
        elif self._collisions is None or self._collisions.pop(packet_id, None) is None:
            return False
        self._count -= 1
        return True

    def clear(self) -> None:
        """Remove all exchanges."""
        self._slots = _NO_SLOTS  # type: ignore[assignment]
        self._mask = 0
        self._collisions = None
        self._count = 0

    def _grow(self) -> None:
        exchanges = self.values()
        slots_count = max(SLOTS_MIN, 2 * len(self._slots))
        self._slots = [None] * slots_count
        self._mask = slots_count - 1
        self._collisions = None
        for exchange in exchanges:
            if self._slots[exchange.packet_id & self._mask] is None:
                self._slots[exchange.packet_id & self._mask] = exchange
            else:
                self._add_collision(exchange)

    def _add_collision(self, exchange: E) -> None:
        if self._collisions is None:
            self._collisions = {}
        self._collisions[exchange.packet_id] = exchange


def _order_of(exchange: Exchange) -> int:
    return exchange.order
