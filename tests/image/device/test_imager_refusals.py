"""Invalid, unusual or truncated files from Imager: no content is stored or executed."""

import json
import time
import tomllib

import pytest
from oncegate_device import imager
from oncegate_device.wanted import FILE_BYTES_MAX, WantedError

from tests.image.device.boot_partition import EXAMPLE, KEY, Card, cut_after
from tests.image.device.imager_files import (
    NAMES_LEFT,
    NETWORK_CONFIG,
    PSK,
    SSID,
    flashed,
    names,
    put,
)


@pytest.fixture
def card(card: Card) -> Card:
    card.put(EXAMPLE.read_text())
    return card


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


def test_the_fix_that_is_stated_for_a_value_works(card: Card) -> None:
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
