"""gateway.toml of the boot partition: taken whole, reported, and without its secrets afterwards."""

import hashlib

from firmware_bridge.protocols.table import PROTOCOLS

from gateway.configuration import load
from tests.image.device.boot_partition import EXAMPLE, FULL, Card


def test_the_example_that_the_card_brings_changes_nothing(card: Card) -> None:
    card.put(EXAMPLE.read_text())
    lines = card.provision()
    assert card.text == EXAMPLE.read_text()
    assert "SSH: closed, no key was given" in lines
    assert "MQTT: open to this machine only" in lines
    configuration = load(card.places.configuration / "gateway.toml", {}, {}, PROTOCOLS)
    assert configuration.api.bind == "127.0.0.1"
    assert [listener.bind for listener in configuration.listeners] == ["127.0.0.1"]


def test_what_is_reported_of_it_names_no_network_and_no_user(card: Card) -> None:
    card.put(
        '[wifi]\nssid = "back room"\npassword = "battery staple"\ncountry = "DE"\n'
        '[[users]]\nname = "cellar"\npassword = "battery staple"\n'
    )
    output = "\n".join(card.provision()) + card.report
    assert "MQTT: open to 1 user(s)" in output
    assert not [word for word in ("back room", "cellar", "battery") if word in output]


def test_what_was_taken_is_noted_as_sha256sum_checks_it(card: Card) -> None:
    card.put(FULL.replace("ssh_keys", "# ssh_keys"))
    card.provision()
    digest = hashlib.sha256(card.places.file.read_bytes()).hexdigest()
    assert card.stored("gateway.toml.sha256") == f"{digest}  {card.places.file}\n"
