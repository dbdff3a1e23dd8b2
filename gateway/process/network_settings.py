"""Validates the host name and network settings of gateways that were set up from an SD card.

The broker checks a requested change before it writes the request to a file. The program that
applies the change checks the request again. The same program also checks gateway.toml with this
module.
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from gateway.process.countries import country_meant_by

HOSTNAME: Final = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
HOSTNAME_ALLOWED: Final = "1 to 63 of a-z, 0-9 and -, like cabinet-7"
SSID: Final = r"[^\0\r\n\ud800-\udfff]{1,32}"
"""Pattern for the name of a wireless network. A lone surrogate cannot be encoded in UTF-8."""
SSID_ALLOWED: Final = "the network's name, 1 to 32 characters"
SSID_BYTES_MAX: Final = 32
"""Longest name of a wireless network, in bytes (IEEE 802.11, 9.4.2.2)."""
WIFI_PASSWORD: Final = r"[\x20-\x7e]{8,63}|[0-9A-Fa-f]{64}|"  # noqa: S105 - a pattern
WIFI_PASSWORD_ALLOWED: Final = "8 to 63 letters, digits and signs, or 64 hexadecimal"  # noqa: S105
COUNTRY_ALLOWED: Final = 'a country\'s code in two letters (ISO 3166-1), like "DE", "GB" or "US"'
INTERFACE: Final = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,14}"
"""Pattern for the name of a network adapter: at most 15 bytes (IFNAMSIZ in linux/if.h).
systemd-networkd reads the name as a list of patterns (systemd.network(5)), so spaces, wildcards and
escapes are excluded."""
INTERFACE_ALLOWED: Final = "one adapter's name, 1 to 15 of a-z, A-Z, 0-9, ., _ and -, like eth0"
NAME_SERVERS_MAX: Final = 3
"""Maximum number of name servers, as in resolv.conf (resolv.conf(5))."""
KEEP, DHCP, FIXED, JOIN, OFF = "keep", "dhcp", "fixed", "join", "off"
KEYS: Final[tuple[str, ...]] = (
    "hostname", "wifi", "wifi_ssid", "wifi_password", "wifi_country", "wifi_hidden",
    "ethernet", "ethernet_address", "ethernet_gateway", "ethernet_dns", "ethernet_interface",
)  # fmt: skip
"""The keys of a request to change the settings. The request is one JSON object."""


class NetworkSettingsError(ValueError):
    """Error raised for an invalid value. The message names the key and the allowed values."""


@dataclass(frozen=True, slots=True)
class EthernetAddress:
    """A fixed IPv4 address with its prefix length (192.0.2.10/24), a router and DNS servers."""

    address: str
    gateway: str | None = None
    dns: tuple[str, ...] = ()
    interface: str | None = None
    """The adapter that gets the address, such as eth0. If None, every Ethernet adapter gets it."""


@dataclass(frozen=True, slots=True)
class WifiNetwork:
    """A wireless network to join. If the password is empty, the stored password is used."""

    ssid: str
    password: str
    country: str | None
    hidden: bool


@dataclass(frozen=True, slots=True)
class NetworkChange:
    """A change to the host name and the network settings. Settings that are None do not change."""

    hostname: str | None = None
    wifi: WifiNetwork | None = None
    ethernet: EthernetAddress | None = None
    leaves_wifi: bool = False
    """True to leave the wireless network, and not join any other."""
    uses_dhcp: bool = False
    """True to get the Ethernet address from DHCP."""

    @property
    def is_empty(self) -> bool:
        return self == NetworkChange()


def change_in(request: Mapping[str, object]) -> NetworkChange:
    """Return the change that a request describes. Keys other than `KEYS` are ignored.

    Raises:
        NetworkSettingsError: if a value is invalid, or the request contains no change.
    """
    hostname = _text_of(request, "hostname")
    if hostname and re.fullmatch(HOSTNAME, hostname) is None:
        raise _refused("hostname", HOSTNAME_ALLOWED)
    wifi = _choice_of(request, "wifi", (KEEP, JOIN, OFF))
    ethernet = _choice_of(request, "ethernet", (KEEP, DHCP, FIXED))
    change = NetworkChange(
        hostname=hostname or None,
        wifi=_wifi_in(request) if wifi == JOIN else None,
        ethernet=_ethernet_in(request) if ethernet == FIXED else None,
        leaves_wifi=wifi == OFF,
        uses_dhcp=ethernet == DHCP,
    )
    if change.is_empty:
        raise NetworkSettingsError(
            "nothing would change: give a hostname, or wifi or ethernet other than keep"
        )
    return change


def country_of(written: object) -> str | None:
    """Return the country code that a user has entered, or None if the input is not a country.

    The input can have any type.
    """
    return country_meant_by(written) if isinstance(written, str) else None


def ethernet_address(address: str, gateway: str | None, dns: tuple[str, ...]) -> EthernetAddress:
    """Check and return an IPv4 address, its router (`gateway`) and its name servers (`dns`).

    Raises:
        NetworkSettingsError: if an address is invalid.
    """
    allowed = "an IPv4 address of a machine with its prefix length, like 192.0.2.10/24"
    try:
        interface = ipaddress.IPv4Interface(address if "/" in address else "")
    except ValueError:
        raise _refused("ethernet_address", allowed) from None
    network = interface.network
    if not 1 <= network.prefixlen <= 30 or not _is_machine(interface.ip, network):
        raise _refused("ethernet_address", allowed)
    if gateway is not None:
        way_out = _address_of(gateway)
        is_near = isinstance(way_out, ipaddress.IPv4Address) and way_out in network
        if not is_near or way_out == interface.ip or not _is_machine(way_out, network):
            raise _refused("ethernet_gateway", f"another address in {network}, the router's")
    servers = tuple(_address_of(each) for each in dns)
    if len(servers) > NAME_SERVERS_MAX or any(
        each is None or each.is_unspecified or each.is_multicast for each in servers
    ):
        raise _refused("ethernet_dns", f"at most {NAME_SERVERS_MAX} IP addresses of name servers")
    return EthernetAddress(str(interface), gateway, tuple(str(each) for each in servers))


def _is_machine(address: object, network: ipaddress.IPv4Network) -> bool:
    """Return True if a machine in `network` can have the address `address`.

    For example, the broadcast address, loopback and multicast addresses are not allowed.
    """
    if not isinstance(address, ipaddress.IPv4Address):
        return False
    special = address.is_loopback or address.is_multicast or address.is_unspecified
    is_of_all = address in (network.network_address, network.broadcast_address)
    return not special and not address.is_link_local and not is_of_all and int(address) < 0xF0000000


def _address_of(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text if "%" not in text else "")
    except ValueError:
        return None


def _wifi_in(request: Mapping[str, object]) -> WifiNetwork:
    ssid, password = _text_of(request, "wifi_ssid"), _text_of(request, "wifi_password")
    if re.fullmatch(SSID, ssid) is None or len(ssid.encode()) > SSID_BYTES_MAX:
        raise _refused("wifi_ssid", f"{SSID_ALLOWED}, at most {SSID_BYTES_MAX} bytes")
    if re.fullmatch(WIFI_PASSWORD, password) is None:
        raise _refused("wifi_password", WIFI_PASSWORD_ALLOWED)
    written = _text_of(request, "wifi_country")
    country = country_meant_by(written)
    if written and country is None:
        raise _refused("wifi_country", COUNTRY_ALLOWED)
    hidden = request.get("wifi_hidden") or False
    if not isinstance(hidden, bool):
        raise _refused("wifi_hidden", "true or false")
    return WifiNetwork(ssid, password, country, hidden)


def _ethernet_in(request: Mapping[str, object]) -> EthernetAddress:
    dns = request.get("ethernet_dns") or []
    if not isinstance(dns, list) or not all(isinstance(each, str) for each in dns):
        raise _refused("ethernet_dns", "a list of IP addresses")
    gateway = _text_of(request, "ethernet_gateway") or None
    interface = _text_of(request, "ethernet_interface") or None
    if interface is not None and re.fullmatch(INTERFACE, interface) is None:
        raise _refused("ethernet_interface", INTERFACE_ALLOWED)
    fixed = ethernet_address(_text_of(request, "ethernet_address"), gateway, tuple(dns))
    return replace(fixed, interface=interface)


def _choice_of(request: Mapping[str, object], key: str, choices: tuple[str, ...]) -> str:
    chosen = _text_of(request, key) or KEEP
    if chosen not in choices:
        raise _refused(key, " or ".join(choices))
    return chosen


def _text_of(request: Mapping[str, object], key: str) -> str:
    value = request.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _refused(key, "a string")
    return value


def _refused(key: str, allowed: str) -> NetworkSettingsError:
    """Return the exception for a key with an invalid value.

    Its message does not contain the value, which might be a password.
    """
    return NetworkSettingsError(f"'{key}' cannot be used: give {allowed}")
