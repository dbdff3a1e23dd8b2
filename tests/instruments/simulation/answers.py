"""What an acknowledgement with an error means to a client."""

from gateway.broker.wire.codes import PACKET_ID_NOT_FOUND, QUOTA_EXCEEDED
from gateway.broker.wire.packets import Packet, Puback, Pubcomp, Pubrec


def is_forgotten_release(packet: Packet) -> bool:
    """Return whether a repeated PUBREL is answered for a message that was released before."""
    return isinstance(packet, Pubcomp) and packet.reason_code == PACKET_ID_NOT_FOUND


def is_refusal(packet: Packet) -> bool:
    """Return whether a message was refused for want of room."""
    return isinstance(packet, Puback | Pubrec) and packet.reason_code == QUOTA_EXCEEDED
