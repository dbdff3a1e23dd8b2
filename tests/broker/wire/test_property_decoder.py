"""Decoding of properties: repetition, range, truncation, and unknown identifiers."""

from tests.broker.wire.notation import octets
from tests.broker.wire.property_table import (
    ROWS,
    error_of,
    every_packet,
    is_allowed,
    judged,
    value_of,
)

SUBSCRIPTION_IDENTIFIER, TOPIC_ALIAS, USER_PROPERTY = 11, 35, 38
ZERO_FORBIDDEN = {SUBSCRIPTION_IDENTIFIER, 33, TOPIC_ALIAS, 39}


@every_packet
def test_a_property_stands_once_but_for_the_two_that_may_repeat(sender: str, packet: str) -> None:
    for identifier, (kind, *_) in ROWS.items():
        if not is_allowed(sender, packet, identifier):
            continue
        once = bytes([identifier]) + value_of(kind)
        may_repeat = identifier == USER_PROPERTY or (
            identifier == SUBSCRIPTION_IDENTIFIER and packet == "PUBLISH"
        )
        expected = None if may_repeat else ("property_duplicate", 0x82)
        assert judged(error_of(sender, packet, once + once)) == expected, f"{identifier:#04x}"


@every_packet
def test_what_is_no_property_of_5_0_is_malformed_everywhere(sender: str, packet: str) -> None:
    for identifier in set(range(128)) - set(ROWS):
        error = error_of(sender, packet, bytes([identifier]) + octets("0001 'a'"))
        assert judged(error) == ("property_unknown", 0x81), f"property {identifier:#04x}"


@every_packet
def test_a_value_has_its_range(sender: str, packet: str) -> None:
    widths = {"two": 2, "four": 4}
    for identifier, (kind, *_) in ROWS.items():
        if not is_allowed(sender, packet, identifier) or kind in ("string", "pair"):
            continue
        head = bytes([identifier])
        code = 0x94 if identifier == TOPIC_ALIAS else 0x82
        wrong: list[bytes] = []
        if kind == "bit":
            right, wrong = [b"\x00", b"\x01"], [b"\x02", b"\xff"]
        elif kind == "variable":
            right = [b"\x01", b"\xff\xff\xff\x7f"]
        else:
            width = widths[kind]
            right = [b"\xff" * width]
        zero = b"\x00" * widths.get(kind, 1)
        (wrong if identifier in ZERO_FORBIDDEN else right).append(zero)
        for value in right:
            assert error_of(sender, packet, head + value) is None, (identifier, value)
        for value in wrong:
            error = error_of(sender, packet, head + value)
            assert judged(error) == ("property_value", code), (identifier, value)


@every_packet
def test_a_value_that_its_properties_cut_off_is_malformed(sender: str, packet: str) -> None:
    for identifier, (kind, *_) in ROWS.items():
        if is_allowed(sender, packet, identifier):
            error = error_of(sender, packet, bytes([identifier]) + value_of(kind)[:-1])
            assert judged(error) == ("field_truncated", 0x81), f"property {identifier:#04x}"
