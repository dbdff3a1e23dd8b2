"""Keys of mosquitto.conf are answered with the key that has the same meaning."""

import re
from pathlib import Path

import pytest
from firmware_bridge.protocols.table import PROTOCOLS

from gateway.configuration import ConfigurationError, load
from gateway.configuration.misplaced import _tables
from gateway.configuration.mosquitto_keys import MEANINGS, meaning_of


@pytest.mark.parametrize("key", MEANINGS)
def test_the_keys_that_are_named_exist_in_the_section_that_is_named(key: str) -> None:
    sentence = MEANINGS[key].removeprefix("not needed: everything is stored in the folder of ")
    found = re.match(r"(\w+)(?: and (\w+))?(?: = \"\w+\")? in (\[\[?[a-z.]+\]\]?)", sentence)
    assert found is not None
    first, second, section = found.groups()
    assert {first, second} - {None} <= dict(_tables(PROTOCOLS))[section]


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("persistence = true", "Mosquitto's persistence is not needed"),
        ("[mqtt]\nmax_queued_messages = 5", "Mosquitto's max_queued_messages is max_mqueue_len"),
        ("[[listeners]]\nkeyfile = 'x'", "Mosquitto's keyfile is key in [listeners.tls]"),
        ("[access]\nallow_anonymous = true", "allow_anonymous is anonymous in [[listeners]]"),
        ("[uplink]\ntopic = '# out'", 'did you mean "topics"?'),
        ("[uplink]\nbroker = 'x:1'", 'did you mean "address"?'),
    ],
)
def test_a_key_that_was_copied_from_mosquitto_conf_is_answered_with_ours(
    tmp_path: Path, content: str, shown: str
) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(content)
    with pytest.raises(ConfigurationError) as refusal:
        load(file, {}, {}, PROTOCOLS)
    assert any(shown in line for line in refusal.value.problems)


def test_a_key_that_mosquitto_does_not_have_is_left_to_other_hints() -> None:
    assert meaning_of("max_inflightt") is None
