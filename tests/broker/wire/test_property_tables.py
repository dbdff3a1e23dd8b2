"""The packets in which each property is allowed, and the names of the properties."""

import pytest

from gateway.broker.wire.property_tables import PROPERTY_NAMES, allowed_properties, bits_of
from tests.broker.wire.property_table import (
    ROWS,
    error_of,
    every_packet,
    is_allowed,
    judged,
    value_of,
)


@pytest.mark.statement("MQTT5-3.14.2-2", "MQTT5-3.3.4-6")
@every_packet
def test_a_property_is_allowed_only_where_the_standard_has_it(sender: str, packet: str) -> None:
    for identifier, (kind, *_) in ROWS.items():
        error = error_of(sender, packet, bytes([identifier]) + value_of(kind))
        expected = None if is_allowed(sender, packet, identifier) else ("property_foreign", 0x82)
        assert judged(error) == expected, f"property {identifier:#04x}"


def test_the_properties_with_a_name_are_those_of_the_standard() -> None:
    assert set(PROPERTY_NAMES) == set(ROWS)
    assert len(set(PROPERTY_NAMES.values())) == len(ROWS)


def test_a_packet_that_has_no_properties_is_allowed_none() -> None:
    for kind in (0, 12, 13):
        assert allowed_properties(kind, True) == allowed_properties(kind, False) == 0


def test_a_set_of_properties_has_one_bit_for_each() -> None:
    assert bits_of([]) == 0
    assert bits_of([1, 38, 1]) == 2 + (1 << 38)
