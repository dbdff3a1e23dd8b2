"""A flashed card with a gateway.toml: the gateway starts, is provisioned, and its page responds."""

import urllib.request
from pathlib import Path

import pytest

from tests.image.boot.card import CARD_BYTES, DATA_OFFSET, Card
from tests.image.boot.conftest import PASSWORD, SERVICES
from tests.image.boot.machine import MQTT, PAGE, Machine, powered
from tests.image.boot.sensor import READINGS_A_FRAME, Board
from tests.image.boot.subscriber import Subscriber
from tests.image.device.boot_partition import KEY
from tests.image.device.imager_files import NETWORK_CONFIG, PSK, SSID, USER_DATA

pytestmark = pytest.mark.timeout(1800)


@pytest.mark.parametrize("kind", ["virt", "raspi3b"])
def test_a_flashed_card_boots_to_a_gateway_that_carries_a_sensor_s_readings_once(
    card: Card, tmp_path: Path, key: Path, kind: str
) -> None:
    with powered(card, tmp_path, kind, key=key) as machine, Board(machine.serial, 0.5) as board:
        machine.wait_until_healthy()
        assert machine.run(f"systemctl is-active {' '.join(SERVICES)}").split() == ["active"] * 4
        assert machine.run("systemctl --failed --plain --no-legend") == ""
        assert page_of(machine).startswith("<!doctype html>")
        the_card_is_provisioned(machine)
        the_data_partition_is_grown(machine)
        with Subscriber(machine.port(MQTT), "cellar", PASSWORD) as subscriber:
            assert subscriber.subscribed.wait(60)
            board.start_measuring()
            subscriber.wait_for(10 * READINGS_A_FRAME, 120)
            board.stop_measuring()
        assert set(subscriber.readings.values()) == {1}
        machine.power_off()
    assert PASSWORD.encode() not in card.file.read_bytes()[:DATA_OFFSET]
    assert b"moved from gateway.toml" in card.get("gateway-report.txt")


def test_a_card_takes_what_imager_s_dialogs_were_given(
    image: Path, tmp_path: Path, key: Path
) -> None:
    card = Card(image, tmp_path / "card.img")
    public = key.with_suffix(".pub").read_text().strip()
    card.put("user-data", USER_DATA.replace(KEY, public))
    card.put("network-config", NETWORK_CONFIG)
    card.put("meta-data", "instance-id: rpi-imager-1790623015181\n")
    with powered(card, tmp_path, key=key) as machine:
        machine.wait_until_up()
        assert machine.run("hostname") == "cabinet-7"
        network = machine.run("cat /etc/wpa_supplicant/wpa_supplicant-wlan0.conf")
        assert f"psk={PSK}" in network.split()
        assert f"ssid={SSID.encode().hex()}" in network.split()
        machine.power_off()
    assert not {"user-data", "network-config", "meta-data"} & set(card.names())
    assert b'hostname = "cabinet-7"' in card.get("gateway.toml")
    assert PSK.encode() not in card.file.read_bytes()[:DATA_OFFSET]


def page_of(machine: Machine) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{machine.port(PAGE)}/", timeout=60) as answer:
        return str(answer.read().decode().lower())


def the_card_is_provisioned(machine: Machine) -> None:
    assert machine.run("hostname") == "cabinet-7"
    report = machine.run("cat /boot/firmware/gateway-report.txt")
    assert "The gateway is called cabinet-7" in report
    assert PASSWORD not in machine.run("cat /boot/firmware/gateway.toml")
    # No account accepts a password.
    locked = machine.run("getent shadow | cut -d: -f2 | sort -u").split()
    assert not [each for each in locked if not each.startswith(("!", "*"))]
    # Reachable from the network: only the ports that the file opened, and mDNS, which answers only
    # for names.
    listening = machine.run("ss -Hltn | awk '{print $4}'").split()
    assert {each for each in listening if not each.startswith(("127.", "[::1]"))} <= {
        "0.0.0.0:80", "0.0.0.0:1883", "0.0.0.0:22", "[::]:22",
    }  # fmt: skip
    for place in ("/", "/boot/firmware"):
        assert "ro" in machine.run(f"findmnt -no OPTIONS {place}").split(",")


def the_data_partition_is_grown(machine: Machine) -> None:
    machine.run("systemctl is-active device-grow")
    size = int(machine.run("df --output=size -B1 /var | tail -1"))
    assert size > 0.9 * (CARD_BYTES - DATA_OFFSET)
