"""The files on the data partition that contain the card's name and network.

This module does not import the gateway, because it is used at every boot and the import would take
too long.
"""

import contextlib
import hashlib
from pathlib import Path
from typing import Protocol

from oncegate_device.places import write

DEFAULT_NAME = "oncegate"
"""The host name of a card without a configured name, the same as in /etc/hostname."""
HOSTNAME = "hostname"
WIFI = "wpa_supplicant/wpa_supplicant-wlan0.conf"
ETHERNET = "network/wired.network"
"""The file with a fixed address. systemd-networkd reads a copy, /run/systemd/network/
10-wired.network. Without it, Ethernet uses DHCP (image/overlay/etc/systemd/network)."""
FILES = {HOSTNAME: 0o644, WIFI: 0o600, ETHERNET: 0o644}
"""The files below /var/lib/device with their permissions."""
PSK_ROUNDS = 4096
"""Number of PBKDF2 rounds for a WPA2 key (IEEE 802.11, annex J.4)."""


class Wireless(Protocol):
    """A wireless network. If the password is empty, the stored password of this network is used."""

    @property
    def ssid(self) -> str: ...
    @property
    def password(self) -> str: ...
    @property
    def country(self) -> str | None: ...
    @property
    def hidden(self) -> bool: ...


class Wired(Protocol):
    """A fixed address for Ethernet, such as 192.0.2.10/24, with the router and the name servers.

    If `interface` is None, every Ethernet adapter gets the address.
    """

    @property
    def address(self) -> str: ...
    @property
    def gateway(self) -> str | None: ...
    @property
    def dns(self) -> tuple[str, ...]: ...
    @property
    def interface(self) -> str | None: ...


def write_hostname(hostname: str, device: Path) -> None:
    """Write the host name to the file `hostname` in the folder `device` (/var/lib/device)."""
    write(device / HOSTNAME, f"{hostname}\n", FILES[HOSTNAME])


def write_wifi(wifi: Wireless | None, device: Path) -> None:
    """Write wpa_supplicant's configuration, or remove it if `wifi` is None.

    If the password is empty, the network's key must be stored already (see `stored_psk_of`).
    """
    file = device / WIFI
    if wifi is None:
        file.unlink(missing_ok=True)
        return
    psk = _psk_of(wifi) if wifi.password else stored_psk_of(wifi.ssid, device)
    # The ssid in hexadecimal needs no quotes. The derived key opens only this network.
    country = f"country={wifi.country}\n" if wifi.country else ""
    text = (
        f"ctrl_interface=/run/wpa_supplicant\n{country}"
        f"network={{\n    ssid={wifi.ssid.encode().hex()}\n    scan_ssid={wifi.hidden:d}\n"
        f"    psk={psk}\n    key_mgmt=WPA-PSK WPA-PSK-SHA256\n    ieee80211w=1\n}}\n"
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    write(file, text, FILES[WIFI])


def write_ethernet(ethernet: Wired | None, device: Path) -> None:
    """Write systemd-networkd's file for a fixed address, or remove it if `ethernet` is None.

    Ethernet adapters without a fixed address use DHCP.
    """
    file = device / ETHERNET
    if ethernet is None:
        file.unlink(missing_ok=True)
        return
    # Name= narrows Type= (systemd.network(5)), so wlan0 is never given the address of Ethernet.
    name = f"Name={ethernet.interface}\n" if ethernet.interface else ""
    gateway = f"Gateway={ethernet.gateway}\n" if ethernet.gateway else ""
    servers = "".join(f"DNS={each}\n" for each in ethernet.dns)
    text = (
        "# Made from [ethernet] in gateway.toml, or on the page.\n[Match]\nType=ether\n"
        f"{name}[Network]\nAddress={ethernet.address}\n{gateway}{servers}MulticastDNS=yes\n"
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    write(file, text, FILES[ETHERNET])


def stored_psk_of(ssid: str, device: Path) -> str | None:
    """Return the stored key of a wireless network, or None if no key is stored."""
    values = _values_of(device / WIFI)
    return values.get("psk") if values.get("ssid") == ssid.encode().hex() else None


def settings_of(device: Path) -> dict[str, object]:
    """Return the card's name and network settings, without secrets.

    They are read from the files that this module writes. The keys are those of gateway.toml:
    `hostname`, `wifi` and `ethernet`. The values of `wifi` and `ethernet` can be None.
    """
    wifi, wired = _values_of(device / WIFI), _values_of(device / ETHERNET)
    with contextlib.suppress(FileNotFoundError):
        name = (device / HOSTNAME).read_text().strip() or DEFAULT_NAME
        return {"hostname": name, "wifi": _wifi_of(wifi), "ethernet": _ethernet_of(device, wired)}
    return {"hostname": DEFAULT_NAME, "wifi": None, "ethernet": None}


def _wifi_of(values: dict[str, str]) -> dict[str, object] | None:
    if "ssid" not in values:
        return None
    return {
        "ssid": bytes.fromhex(values["ssid"]).decode("utf-8", "replace"),
        "country": values.get("country"),
        "hidden": values.get("scan_ssid") == "1",
    }


def _ethernet_of(device: Path, values: dict[str, str]) -> dict[str, object] | None:
    if "Address" not in values:
        return None
    lines = (device / ETHERNET).read_text().splitlines()
    servers = [line.removeprefix("DNS=") for line in lines if line.startswith("DNS=")]
    return {
        "address": values["Address"],
        "gateway": values.get("Gateway"),
        "dns": servers,
        "interface": values.get("Name"),
    }


def _values_of(file: Path) -> dict[str, str]:
    """Read the KEY=VALUE lines of a file that this module wrote. Return them as a dictionary.

    If a key occurs twice, its first value is returned. If the file is missing, the result is empty.
    """
    values: dict[str, str] = {}
    with contextlib.suppress(FileNotFoundError):
        for line in file.read_text().splitlines():
            key, found, value = line.strip().partition("=")
            if found and not key.startswith("#"):
                values.setdefault(key, value)
    return values


def _psk_of(wifi: Wireless) -> str:
    if len(wifi.password) == 64:
        return wifi.password.lower()
    key = hashlib.pbkdf2_hmac(
        "sha1", wifi.password.encode(), wifi.ssid.encode(), PSK_ROUNDS, dklen=32
    )
    return key.hex()
