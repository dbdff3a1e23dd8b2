"""gateway.toml on the boot partition: accepted as a whole, reported, and stripped of secrets."""

import hashlib
import re

import pytest
from firmware_bridge.protocols.table import PROTOCOLS
from oncegate_device.console import MARK
from oncegate_device.wanted import WantedError

from gateway.configuration import load
from tests.image.device.boot_partition import EXAMPLE, FULL, Card

BOOT_SCRIPT = EXAMPLE.parent / "boot.cmd"


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
    assert "MQTT: open to 1 user" in output
    assert not [word for word in ("back room", "cellar", "battery") if word in output]


def test_what_was_taken_is_noted_as_sha256sum_checks_it(card: Card) -> None:
    card.put(FULL.replace("ssh_keys", "# ssh_keys"))
    card.provision()
    digest = hashlib.sha256(card.places.file.read_bytes()).hexdigest()
    assert card.stored("gateway.toml.sha256") == f"{digest}  {card.places.file}\n"


WIFI = '[wifi]\nssid = "shed"\npassword = "battery staple"\n'


@pytest.mark.parametrize(
    ("country", "line", "stored"),
    [
        ("", "Wi-Fi: no country is set: only channels", None),
        ('country = "UK"\n', 'Wi-Fi: country = "UK" was taken as "GB"', "GB"),
        ('country = "de"\n', 'Wi-Fi: country = "de" was taken as "DE"', "DE"),
        ('country = "DE"\n', None, "DE"),
    ],
)
def test_a_country_that_is_missing_or_no_code_has_a_line_in_the_report(
    card: Card, country: str, line: str | None, stored: str | None
) -> None:
    card.put(WIFI + country)
    lines = card.provision()
    reported = [each for each in lines if "country" in each]
    assert [each[: len(line or "")] for each in reported] == ([line] if line else [])
    assert all(each in card.report for each in reported)
    network = card.stored("wpa_supplicant/wpa_supplicant-wlan0.conf")
    assert re.findall("^country=(.*)$", network, re.M) == ([stored] if stored else [])


def test_the_uart_is_the_console_s_until_the_file_gives_it_to_sensors(card: Card) -> None:
    card.put(EXAMPLE.read_text())
    card.provision()
    assert card.stored("uart") == "console\n"
    assert not (card.places.boot / MARK).exists()
    gps = '[[serial]]\nname = "gps"\npath = "/dev/serial0"\nframing = "nmea"\n'
    card.put('[console]\nuart = "sensors"\n' + gps)
    lines = card.provision()
    assert "UART on the header: for sensors, as /dev/serial0; the console is on the screen" in lines
    assert card.stored("uart") == "sensors\n"
    assert f"test -e mmc 0:1 {MARK}" in BOOT_SCRIPT.read_text()
    assert (card.places.boot / MARK).exists()
    card.put("")
    card.provision()
    assert card.stored("uart") == "console\n"
    assert not (card.places.boot / MARK).exists()


GPS = '[[serial]]\nname = "gps"\npath = "/dev/ttyACM0"\nframing = "nmea"\n'


def added(card: Card, text: str) -> None:
    """Store a sensor on the card as the page does."""
    folder = card.places.configuration / "conf.d"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gps.toml").write_text(text)


def test_sensors_that_were_added_on_the_page_stay(card: Card) -> None:
    card.put(EXAMPLE.read_text())
    card.provision()
    added(card, GPS)
    card.put(EXAMPLE.read_text() + GPS.replace("gps", "dust").replace("ACM0", "USB0"))
    card.provision()
    configuration = load(card.places.configuration / "gateway.toml", {}, {}, PROTOCOLS)
    assert [port.name for port in configuration.serial] == ["dust", "gps"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GPS, 'name = "gps" is not allowed'),
        (GPS.replace('"gps"', '"other"'), 'path = "/dev/ttyACM0" is not allowed'),
        ("[mqtt]\nretain_available = false\nmaximum_qos = 1\n", "maximum_qos = 2"),
    ],
)
def test_a_file_that_does_not_fit_sensors_of_the_page_is_not_taken(
    card: Card, text: str, words: str
) -> None:
    card.put(EXAMPLE.read_text())
    card.provision()
    added(card, GPS)
    card.put(EXAMPLE.read_text() + text)
    with pytest.raises(WantedError, match="remove them on the page") as refused:
        card.provision()
    assert words in str(refused.value)
    assert "was not taken" in card.report
    configuration = load(card.places.configuration / "gateway.toml", {}, {}, PROTOCOLS)
    assert [port.name for port in configuration.serial] == ["gps"]
