"""Files that Raspberry Pi Imager leaves on the boot partition become lines of gateway.toml."""

import tomllib
from pathlib import Path

import pytest
from oncegate_device import imager

from image import os_list
from tests.image.device.boot_partition import EXAMPLE, KEY, Card
from tests.image.device.imager_files import (
    HASH,
    NAMES_LEFT,
    NETWORK_CONFIG,
    PSK,
    SSID,
    flashed,
    names,
    put,
)

NETWORK_CONFIG_OF_VERSION_1 = f"""\
version: 2
wifis:
  renderer: networkd
  wlan0:
    dhcp4: true
    optional: true
    access-points:
      "IEEE":
        password: "{PSK}"
"""


@pytest.fixture
def card(card: Card) -> Card:
    card.put(EXAMPLE.read_text())
    return card


def test_imager_offers_its_dialogs_for_this_image(tmp_path: Path) -> None:
    image = tmp_path / "card.img"
    for file in (image, tmp_path / "card.img.xz"):
        file.write_bytes(b"x")
    listed = os_list.repository(image, "1.0", "")["os_list"]
    assert isinstance(listed, list)
    assert [entry["init_format"] for entry in listed] == ["cloudinit"]


def test_hostname_key_and_network_are_stored_as_if_gateway_toml_had_them(card: Card) -> None:
    flashed(card)
    lines = card.provision()
    assert card.stored("hostname") == "cabinet-7\n"
    assert card.stored("ssh/authorized_keys") == f"{KEY}\n"
    network = card.stored("wpa_supplicant/wpa_supplicant-wlan0.conf")
    assert f"psk={PSK}\n" in network
    assert f"ssid={SSID.encode().hex()}\n" in network
    assert "scan_ssid=1" in network
    assert "country=DE" in network
    assert "The settings of Raspberry Pi Imager are now in gateway.toml" in lines
    assert any("user and password were not taken" in line for line in lines)


def test_gateway_toml_keeps_its_comments_and_states_what_was_taken(card: Card) -> None:
    flashed(card)
    card.provision()
    assert card.text.startswith(EXAMPLE.read_text())
    said = tomllib.loads(card.text)
    assert said["device"] == {"hostname": "cabinet-7", "ssh_keys": [KEY]}
    assert said["wifi"] == {
        "country": "DE", "ssid": SSID, "password": "", "hidden": True,
    }  # fmt: skip


def test_nothing_of_imager_s_stays_on_the_boot_partition(card: Card) -> None:
    flashed(card)
    files = [(card.places.boot / name).open("rb") for name in imager.FILES]
    card.provision()
    assert names(card) == NAMES_LEFT
    for file in files:
        with file:
            assert file.read().strip() == b""
    assert PSK not in card.text + card.report
    assert HASH not in card.text + card.report


def test_a_later_edit_of_gateway_toml_keeps_the_network(card: Card) -> None:
    flashed(card)
    card.provision()
    card.put(card.text.replace("cabinet-7", "cabinet-8"))
    card.provision()
    assert card.stored("hostname") == "cabinet-8\n"
    assert PSK in card.stored("wpa_supplicant/wpa_supplicant-wlan0.conf")


def test_the_files_of_imager_s_first_versions_are_taken(card: Card) -> None:
    put(card, "network-config", NETWORK_CONFIG_OF_VERSION_1)
    card.provision()
    stored = card.stored("wpa_supplicant/wpa_supplicant-wlan0.conf")
    assert "ssid=49454545" in stored
    assert "country" not in stored


def test_what_gateway_toml_states_itself_counts(card: Card) -> None:
    flashed(card)
    card.put(
        '[device] # mine\nhostname = "mine"\n'
        '[wifi]\ncountry = "AT"\nssid = "IEEE"\npassword = "password"'
    )
    card.provision()
    said = tomllib.loads(card.text)
    assert said["device"] == {"hostname": "mine", "ssh_keys": [KEY]}
    assert said["wifi"]["ssid"] == "IEEE"
    assert PSK in card.stored("wpa_supplicant/wpa_supplicant-wlan0.conf")
    flashed(card)
    lines = card.provision()
    assert "What Raspberry Pi Imager set was not taken: gateway.toml has it itself" in lines
    assert names(card) == NAMES_LEFT


@pytest.mark.parametrize("text", ["", 'device = { hostname = "a" }\n', "[api]\nport = 81"])
def test_any_gateway_toml_can_be_added_to(card: Card, text: str) -> None:
    flashed(card)
    card.put(text)
    card.provision()
    said = tomllib.loads(card.text)
    assert said["device"]["ssh_keys"] == [KEY]
    assert said["device"]["hostname"] == ("a" if "hostname" in text else "cabinet-7")
    assert said.get("api") == tomllib.loads(text).get("api")


def test_a_card_without_gateway_toml_takes_what_imager_set(card: Card) -> None:
    flashed(card)
    card.places.file.unlink()
    card.provision()
    assert card.stored("hostname") == "cabinet-7\n"
    assert tomllib.loads(card.text)["device"]["hostname"] == "cabinet-7"


@pytest.mark.parametrize(
    ("ssid", "bytes_of_it"),
    [
        ('"no"', b"no"),
        ("0123", b"0123"),
        (r'"caf\xc3\xa9 \"1\""', 'café "1"'.encode()),
        ('"Ünal"', "Ünal".encode()),
        ('"日本"', "日本".encode()),
        ('"\N{GRINNING FACE}"', "\N{GRINNING FACE}".encode()),
    ],
)
def test_an_ssid_is_the_bytes_that_the_person_meant(
    card: Card, ssid: str, bytes_of_it: bytes
) -> None:
    put(card, "network-config", NETWORK_CONFIG.replace('"Müller\'s"', ssid))
    card.provision()
    stored = card.stored("wpa_supplicant/wpa_supplicant-wlan0.conf")
    assert f"ssid={bytes_of_it.hex()}\n" in stored


def test_of_several_networks_the_first_counts_and_that_is_said(card: Card) -> None:
    put(
        card,
        "network-config",
        NETWORK_CONFIG
        + f"    wlan1:\n      access-points:\n        b:\n          password: {PSK}\n",
    )
    lines = card.provision()
    assert "network-config has 2 networks: the first counts" in lines
    assert tomllib.loads(card.text)["wifi"]["ssid"] == SSID
