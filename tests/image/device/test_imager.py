"""What Raspberry Pi Imager leaves on the boot partition becomes lines of gateway.toml."""

import json
import time
import tomllib
from pathlib import Path

import pytest
from oncegate_device import imager
from oncegate_device.provisioning import REPORT
from oncegate_device.wanted import FILE_BYTES_MAX, WantedError

from image import os_list
from tests.image.device.boot_partition import EXAMPLE, KEY, Card, cut_after

SSID = "Müller's"
PSK = "f42c6fc52df0ebef9ebb4b90b38a5f902e83fe1b135a70e23aed762e9710a12e"
HASH = "$y$j9T$c2FsdA$aGFzaGVkaGFzaGVkaGFzaGVkaGFzaGVk"
USER_DATA = f"""\
#cloud-config
manage_resolv_conf: false

hostname: Cabinet-7
manage_etc_hosts: true
packages:
- avahi-daemon
apt:
  preserve_sources_list: true
  conf: |
    Acquire {{
      Check-Date "false";
    }};
timezone: Europe/Berlin
keyboard:
  model: pc105
  layout: "de"
users:
- name: pi
  groups: users,adm,dialout,sudo
  shell: /bin/bash
  lock_passwd: false
  passwd: "{HASH}"
  ssh_authorized_keys:
    - {KEY}
  sudo: ALL=(ALL) NOPASSWD:ALL

enable_ssh: true
ssh_pwauth: false
"""
NETWORK_CONFIG = f"""\
network:
  version: 2
  ethernets:
    eth0:
      dhcp4: true
      dhcp6: true
      optional: true
  wifis:
    wlan0:
      dhcp4: true
      regulatory-domain: "DE"
      access-points:
        "{SSID}":
          hidden: true
          password: "{PSK}"
      optional: true
"""
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
NAMES_LEFT = [REPORT, "gateway.toml"]


@pytest.fixture
def card(tmp_path: Path) -> Card:
    made = Card(tmp_path)
    made.put(EXAMPLE.read_text())
    return made


def put(card: Card, name: str, content: str | bytes) -> None:
    data = content.encode() if isinstance(content, str) else content
    (card.places.boot / name).write_bytes(data)


def flashed(card: Card) -> None:
    put(card, "user-data", USER_DATA)
    put(card, "network-config", NETWORK_CONFIG)
    put(card, "meta-data", "instance-id: rpi-imager-1790623015181\n")


def names(card: Card) -> list[str]:
    return sorted(each.name for each in card.places.boot.iterdir())


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
    assert "What Raspberry Pi Imager set stands in gateway.toml now" in lines
    assert any("user and password were not taken" in line for line in lines)


def test_gateway_toml_keeps_its_comments_and_says_what_was_taken(card: Card) -> None:
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


def test_what_gateway_toml_says_itself_counts(card: Card) -> None:
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


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("user-data", "hostname: cabinet 7\n", "Raspberry Pi Imager: [device] hostname"),
        ("user-data", "users:\n- ssh_authorized_keys:\n  - ssh-dss AAAA\n", "ssh_keys"),
        ("user-data", "users:\n- ssh_authorized_keys: 7\n", "users.0.ssh_authorized_keys"),
        ("user-data", "hostname: [a]\n", "user-data: hostname is not as Imager writes it"),
        ("user-data", "hostname: 'a\n\n b: c", "user-data: line"),
        ("user-data", "- a\n", "user-data"),
        ("user-data", "a: &a [*a]\nhostname: a\n", "user-data: line 1 is not YAML"),
        ("user-data", b"hostname: \xff\n", "user-data: is not YAML"),
        ("user-data", b"hostname: a\0b\n", "user-data: is not YAML"),
        ("user-data", "[" * FILE_BYTES_MAX, "user-data: is not YAML"),
        ("user-data", "#" * (FILE_BYTES_MAX + 1), "user-data: longer than"),
        ("user-data", "? [a]\n: b\n", "user-data"),
        ("user-data", "? {a: b}\n: b\n", "user-data"),
        ("network-config", NETWORK_CONFIG.replace(PSK, ""), "[wifi] has no password"),
        ("network-config", NETWORK_CONFIG.replace(PSK, "short"), "[wifi] password is set"),
        ("network-config", NETWORK_CONFIG.replace("DE", "Germany"), "[wifi] country"),
        ("network-config", NETWORK_CONFIG.replace(SSID, "x" * 33), "[wifi]"),
        (
            "network-config",
            NETWORK_CONFIG.replace("true\n          p", "maybe\n          p"),
            "hidden",
        ),
    ],
)
def test_what_cannot_be_used_is_reported_and_changes_nothing(
    card: Card, name: str, content: str | bytes, problem: str
) -> None:
    put(card, name, content)
    with pytest.raises(WantedError) as raised:
        card.provision()
    assert any(problem in line for line in raised.value.problems), raised.value.problems
    assert problem in card.report
    assert json.loads(card.stored("provisioning.json"))["taken"] is False
    assert card.text == EXAMPLE.read_text()
    assert name in names(card)
    assert PSK not in card.report
    assert not (card.places.device / "hostname").exists()


def test_the_mend_that_is_said_for_a_value_works(card: Card) -> None:
    put(card, "user-data", "hostname: cabinet 7\n")
    card.put('[device]\nhostname = "cabinet-7"\n')
    card.provision()
    assert card.stored("hostname") == "cabinet-7\n"


def bomb() -> str:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 40)]
    return "\n".join([*lines, "users: *a39", "hostname: a", ""])


@pytest.mark.parametrize(
    "content",
    [
        bomb(),
        "hostname: a\nusers: [default, {name: pi}]\n",
        "hostname: a\n" + "k: v\n" * 9000,
        "hostname: a\nx: {" + ",".join(f"{i}: [[[[[[]]]]]]" for i in range(3000)) + "}\n",
        "hostname: a\nx: !!python/object/apply:os.system [exit]\n",
    ],
    ids=["bomb", "default user", "repeated keys", "wide", "python object"],
)
def test_a_strange_file_costs_little_and_runs_nothing(card: Card, content: str) -> None:
    assert len(content) <= FILE_BYTES_MAX
    put(card, "user-data", content)
    began = time.process_time()
    card.provision()
    assert time.process_time() - began < 20
    assert card.stored("hostname") == "a\n"


@pytest.mark.parametrize("steps", range(30))
def test_a_cut_at_any_step_is_completed_by_the_next_start(card: Card, steps: int) -> None:
    flashed(card)
    card.provision()
    flashed(card)
    card.put('[device]\nhostname = "cabinet-9"\n')
    (card.places.device / "wpa_supplicant" / "wpa_supplicant-wlan0.conf").unlink()
    with cut_after(steps):
        card.provision()
    assert imager.is_there(card.places.boot) == (names(card) != NAMES_LEFT)
    card.provision()
    assert names(card) == NAMES_LEFT
    said = tomllib.loads(card.text)
    assert said["device"] == {"hostname": "cabinet-9", "ssh_keys": [KEY]}
    assert said["wifi"]["ssid"] == SSID
    assert PSK in card.stored("wpa_supplicant/wpa_supplicant-wlan0.conf")
    assert PSK not in card.text


def test_what_a_cut_left_is_wiped_also_where_gateway_toml_is_refused(card: Card) -> None:
    put(card, "network-config.was", NETWORK_CONFIG)
    card.put('[device]\nhostname = "cabinet 7"\n')
    with pytest.raises(WantedError):
        card.provision()
    assert names(card) == NAMES_LEFT
