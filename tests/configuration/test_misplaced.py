"""For a key in the wrong section the error names the right section."""

import pytest
from firmware_bridge.protocols.table import PROTOCOLS

from gateway.configuration.misplaced import near_miss_of, section_of
from gateway.configuration.whole import Configuration
from gateway.process.declarations.section import fields_of


@pytest.mark.parametrize("section", [each.name for each in fields_of(Configuration)])
def test_every_section_is_named_as_one(section: str) -> None:
    assert (section_of(section, PROTOCOLS) or "").endswith(" is a section of its own")


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("certificate", "certificate belongs in [listeners.tls], [bridge.tls], [uplink.tls]"),
        ("issuer", "issuer belongs in [access.jwt]"),
        ("filter", "filter belongs in [[uplink.topics]]"),
    ],
)
def test_a_key_is_referred_to_every_table_that_has_it(key: str, words: str) -> None:
    assert (section_of(key, PROTOCOLS) or "").startswith(words)


def test_a_key_that_many_tables_have_or_none_is_referred_to_none() -> None:
    assert section_of("ca", PROTOCOLS) is None
    assert section_of("colour", PROTOCOLS) is None
    assert near_miss_of("colour", PROTOCOLS) is None
