"""A row in the tables of malformed packets."""

from typing import NamedTuple

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.malformed import Malformed
from tests.broker.wire.vector import Sender


class Bad(NamedTuple):
    name: str
    version: int
    sender: Sender
    wire: bytes
    reason: str
    reason_code: int


def bad(name: str, version: int, wire: bytes, reason: str, code: int = 0x81) -> Bad:
    """Return a malformed packet from a client; most rows are from clients."""
    return Bad(name, version, "client", wire, reason, code)


def bad_from_server(name: str, version: int, wire: bytes, reason: str, code: int = 0x81) -> Bad:
    return Bad(name, version, "server", wire, reason, code)


def error_of(decoder: Decoder) -> Malformed:
    """Return the error of a decoder that must have failed."""
    assert decoder.error is not None
    return decoder.error
