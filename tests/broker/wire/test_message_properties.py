"""Properties that are forwarded with a message, and properties that apply to one hop only."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.wire.kinds import PUBLISH
from gateway.broker.wire.message_properties import (
    EXPIRY_SECONDS_MAX,
    NEVER,
    NO_PROPERTIES,
    forwarded_of,
    properties_field_of,
)
from gateway.broker.wire.packets import Properties
from gateway.broker.wire.property_decoder import read_properties
from gateway.broker.wire.property_tables import FROM_SERVER
from gateway.broker.wire.reading import Reader
from tests.broker.wire.strategies import MESSAGE, properties_of

FORWARDED = MESSAGE.replace("message_expiry_interval_seconds ", "").split()


def read(field: bytes) -> Properties | None:
    reader = Reader(field, 0, len(field), "PUBLISH")
    properties = read_properties(reader, FROM_SERVER[PUBLISH])
    reader.finish()
    return properties


@given(
    published=properties_of(f"{MESSAGE} topic_alias subscription_identifiers"),
    expiry_seconds=st.just(NEVER) | st.integers(0, EXPIRY_SECONDS_MAX),
    identifiers=st.lists(st.integers(1, 268_435_455), max_size=3),
    alias=st.integers(0, 65_535),
)
def test_what_belongs_to_the_message_is_forwarded_and_the_rest_is_of_the_next_hop(
    published: Properties | None, expiry_seconds: int, identifiers: list[int], alias: int
) -> None:
    expected = Properties()
    for name in FORWARDED if published is not None else ():
        setattr(expected, name, getattr(published, name))
    expected.message_expiry_interval_seconds = None if expiry_seconds == NEVER else expiry_seconds
    expected.subscription_identifiers = identifiers
    expected.topic_alias = alias or None
    field = properties_field_of(expiry_seconds, forwarded_of(published), identifiers, alias)
    assert (read(field) or Properties()) == expected


def test_a_message_without_properties_has_an_empty_field() -> None:
    assert forwarded_of(None) == forwarded_of(Properties()) == b""
    assert properties_field_of(NEVER, b"", [], 0) == NO_PROPERTIES


def test_forwarded_properties_have_no_length_before_them_however_long_they_are() -> None:
    for value_bytes in (1, 120, 130, 20_000):
        properties = Properties()
        properties.correlation_data = b"x" * value_bytes
        size = value_bytes.to_bytes(2, "big")
        assert forwarded_of(properties) == b"\x09" + size + b"x" * value_bytes
