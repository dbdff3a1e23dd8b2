"""The meaning of acknowledgements with an error code for a client."""

from gateway.broker.wire.codes import PACKET_ID_NOT_FOUND, QUOTA_EXCEEDED
from gateway.broker.wire.packets import Packet, Puback, Pubcomp, Pubrec


def is_forgotten_release(packet: Packet) -> bool:
    """Return True if the packet answers a PUBREL for a message that was already released."""
    return isinstance(packet, Pubcomp) and packet.reason_code == PACKET_ID_NOT_FOUND


def is_refusal(packet: Packet) -> bool:
    """Return True if a message was refused because there is no room for it."""
    return isinstance(packet, Puback | Pubrec) and packet.reason_code == QUOTA_EXCEEDED
