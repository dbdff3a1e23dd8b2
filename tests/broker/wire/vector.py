"""A row in the table of packets."""

from typing import Literal, NamedTuple

from gateway.broker.wire.packets import Packet

Sender = Literal["client", "server"]
BOTH: tuple[Sender, ...] = ("client", "server")
CLIENT: tuple[Sender, ...] = ("client",)
SERVER: tuple[Sender, ...] = ("server",)


class Vector(NamedTuple):
    name: str
    versions: tuple[int, ...]
    senders: tuple[Sender, ...]
    wire: bytes
    packet: Packet
