"""A change of the network for tests, and a record of what is asked of systemd."""

import json
import subprocess

from oncegate_device.places import Places

CHANGE = {
    "hostname": "shed-2", "wifi": "join", "wifi_ssid": "Shed", "wifi_password": "battery horse",
    "ethernet": "fixed", "ethernet_address": "192.0.2.10/24", "ethernet_gateway": "192.0.2.1",
    "ethernet_interface": "end0",
}  # fmt: skip
WIFI = "wpa_supplicant/wpa_supplicant-wlan0.conf"


class Units:
    """Records what is asked of systemd; `fails` makes the next request fail."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.fails = False

    def __call__(self, *arguments: str) -> None:
        self.asked.append(arguments)
        if self.fails:
            self.fails = False
            raise subprocess.CalledProcessError(1, "systemctl")


def ask(places: Places, name: str, given: object = None) -> None:
    (places.requests / name).write_text(json.dumps(given or {}))


def state(places: Places) -> object:
    published = json.loads(places.card.read_text())["network"]["change"]
    return published and published["state"]


def stored(places: Places) -> dict[str, str]:
    names = ("hostname", WIFI, "network/wired.network")
    return {
        name: (places.device / name).read_text()
        for name in names
        if (places.device / name).exists()
    }
