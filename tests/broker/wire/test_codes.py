"""Reason codes: each name has a code of its own, and each code of a packet has a name."""

from gateway.broker.wire import codes
from gateway.broker.wire.kinds import (
    AUTH,
    CONNACK,
    DISCONNECT,
    PUBACK,
    PUBCOMP,
    PUBREC,
    PUBREL,
    SUBACK,
    UNSUBACK,
)
from gateway.broker.wire.reason_codes import allowed_reason_codes

NAMED = {
    name: code
    for name, code in vars(codes).items()
    if isinstance(code, int) and name != "FIRST_ERROR"
}
GRANTED = {0, 1, 2}
"""Codes in a SUBACK that grant a QoS."""


def test_no_two_names_are_one_code() -> None:
    assert len(set(NAMED.values())) == len(NAMED)


def test_the_names_are_those_of_all_codes_that_a_packet_may_have() -> None:
    allowed: set[int] = set()
    for kind in (CONNACK, PUBACK, PUBREC, PUBREL, PUBCOMP, SUBACK, UNSUBACK, DISCONNECT, AUTH):
        for from_client in (False, True):
            allowed |= allowed_reason_codes(kind, from_client)
    assert allowed - GRANTED == set(NAMED.values()) - {codes.NORMAL}


def test_errors_begin_where_the_bound_states() -> None:
    assert min(code for code in NAMED.values() if code >= 0x80) == codes.FIRST_ERROR
