"""One sentence about each key, for the schema that editors show."""

from gateway.configuration import Configuration
from gateway.configuration.key_descriptions import KEY_DESCRIPTIONS
from gateway.configuration.problems import section_at
from gateway.process.declarations.section import keys_of


def test_every_key_is_described_and_no_other() -> None:
    described = {(section, key) for section, keys in KEY_DESCRIPTIONS.items() for key in keys}
    known = {
        (section, key) for section in keys_of(Configuration) for key in keys_of(section_at(section))
    }
    assert described == known
