"""Encoding of properties: sorted by identifier, and decoded to the same values."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.wire.packets import Properties
from gateway.broker.wire.property_decoder import read_properties
from gateway.broker.wire.property_encoder import encode_properties
from gateway.broker.wire.property_tables import PROPERTY_NAMES, bits_of
from gateway.broker.wire.reading import Reader
from tests.broker.wire.notation import octets
from tests.broker.wire.strategies import VALUES, properties_of

EVERY_PROPERTY = bits_of(list(PROPERTY_NAMES))


def test_no_properties_are_a_length_of_zero() -> None:
    assert encode_properties(None) == encode_properties(Properties()) == b"\x00"


@given(
    properties=properties_of(" ".join(VALUES), authentication=True), behind=st.binary(max_size=3)
)
def test_properties_are_read_back_as_they_were_written(
    properties: Properties | None, behind: bytes
) -> None:
    wire = encode_properties(properties)
    reader = Reader(wire + behind, 0, len(wire + behind), "PUBLISH")
    assert read_properties(reader, EVERY_PROPERTY) == properties
    assert reader.position == len(wire)


def test_the_order_is_that_of_the_identifiers_and_user_properties_keep_theirs() -> None:
    properties = Properties()
    properties.shared_subscription_available = False
    properties.user_properties = [("b", "2"), ("a", "1"), ("b", "2")]
    properties.receive_maximum = 258
    properties.subscription_identifiers = [200, 1]
    properties.content_type = "t"
    assert encode_properties(properties) == octets(
        "23 03 0001 't' 0b c801 0b 01 21 0102"
        "26 0001 'b' 0001 '2' 26 0001 'a' 0001 '1' 26 0001 'b' 0001 '2' 2a 00"
    )
