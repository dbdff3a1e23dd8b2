"""Requests to change the card's name and network: what is accepted, and hostile values."""

from typing import Any

import pytest

from gateway.process.network_settings import (
    EthernetAddress,
    NetworkSettingsError,
    WifiNetwork,
    change_in,
)

JOIN = {"wifi": "join", "wifi_ssid": "shed", "wifi_password": "correct horse"}
FIXED = {"ethernet": "fixed", "ethernet_address": "192.0.2.10/24"}


def test_a_whole_change_is_understood() -> None:
    change = change_in(
        {"hostname": "cabinet-7", "command": "change_network", **JOIN, "wifi_country": "uk"}
        | FIXED
        | {"ethernet_gateway": "192.0.2.1", "ethernet_dns": ["192.0.2.1", "2001:db8::1"]}
    )
    assert change.hostname == "cabinet-7"
    assert change.wifi == WifiNetwork("shed", "correct horse", "GB", hidden=False)
    assert change.ethernet == EthernetAddress(
        "192.0.2.10/24", "192.0.2.1", ("192.0.2.1", "2001:db8::1")
    )


@pytest.mark.parametrize(
    "name", ["eth0", "end0", "enxb827eb123456", "enp1s0f0", "usb0", "eth0.10", "_", "a" * 15]
)
def test_a_fixed_address_can_be_given_to_one_adapter(name: str) -> None:
    change = change_in({**FIXED, "ethernet_interface": name})
    assert change.ethernet == EthernetAddress("192.0.2.10/24", interface=name)


@pytest.mark.parametrize("name", [None, ""])
def test_without_an_adapter_s_name_every_adapter_gets_the_address(name: str | None) -> None:
    change = change_in({**FIXED, "ethernet_interface": name})
    assert change.ethernet == EthernetAddress("192.0.2.10/24")


def test_each_part_can_be_left_as_it_is_or_taken_back() -> None:
    assert change_in({"hostname": "a"}).wifi is None
    assert change_in({"wifi": "off"}).leaves_wifi
    assert change_in({"ethernet": "dhcp"}).uses_dhcp
    assert change_in({**JOIN, "wifi_password": ""}).wifi is not None, "the stored one"


NO_ADAPTERS = (
    "a" * 16, "é", "eth/0", "..", ".", "-eth0", " ", "eth0 eth1", "eth0\t", "eth0\n",
    "eth0\nType=wlan", "eth*", "eth?", "eth[01]", "[", "]", "!eth0", "eth0\\", '"eth0"', "'eth0'",
    "#", ";", "%i", "eth0:1", "a=b", "eth0\0", 7, ["eth0"],
)  # fmt: skip
HOSTILE: list[tuple[dict[str, Any], str]] = [
    ({}, "nothing would change"),
    ({"hostname": "a\nb"}, "'hostname'"),
    ({"hostname": "a\n"}, "'hostname'"),
    ({"hostname": "-a"}, "'hostname'"),
    ({"hostname": "--help"}, "'hostname'"),
    ({"hostname": "a.b"}, "'hostname'"),
    ({"hostname": "$(reboot)"}, "'hostname'"),
    ({"hostname": "a" * 64}, "'hostname'"),
    ({"hostname": 7}, "'hostname'"),
    ({"wifi": "--off"}, "'wifi'"),
    ({**JOIN, "wifi_ssid": 'x"\n}\nnetwork={'}, "'wifi_ssid'"),
    ({**JOIN, "wifi_ssid": "x\0"}, "'wifi_ssid'"),
    ({**JOIN, "wifi_ssid": "ü" * 17}, "'wifi_ssid'"),
    ({**JOIN, "wifi_ssid": "\ud800"}, "'wifi_ssid'"),
    ({**JOIN, "wifi_ssid": ""}, "'wifi_ssid'"),
    ({**JOIN, "wifi_password": "short"}, "'wifi_password'"),
    ({**JOIN, "wifi_password": "12345678\npsk=1"}, "'wifi_password'"),
    ({**JOIN, "wifi_password": "f" * 65}, "'wifi_password'"),
    ({**JOIN, "wifi_country": "XX"}, "'wifi_country'"),
    ({**JOIN, "wifi_country": "DE\n"}, ""),
    ({**JOIN, "wifi_hidden": "yes"}, "'wifi_hidden'"),
    ({**FIXED, "ethernet_address": "192.0.2.10"}, "'ethernet_address'"),
    ({**FIXED, "ethernet_address": "192.0.2.0/24"}, "'ethernet_address'"),
    ({**FIXED, "ethernet_address": "192.0.2.255/24"}, "'ethernet_address'"),
    ({**FIXED, "ethernet_address": "192.0.2.10/33"}, "'ethernet_address'"),
    ({**FIXED, "ethernet_address": "127.0.0.1/8"}, "'ethernet_address'"),
    ({**FIXED, "ethernet_address": "224.0.0.1/4"}, "'ethernet_address'"),
    ({**FIXED, "ethernet_address": "0.0.0.0/0"}, "'ethernet_address'"),
    ({**FIXED, "ethernet_address": "2001:db8::7/64"}, "'ethernet_address'"),
    ({**FIXED, "ethernet_address": "192.0.2.10/24\nDHCP=yes"}, "'ethernet_address'"),
    ({**FIXED, "ethernet_gateway": "192.0.3.1"}, "'ethernet_gateway'"),
    ({**FIXED, "ethernet_gateway": "192.0.2.10"}, "'ethernet_gateway'"),
    ({**FIXED, "ethernet_gateway": "router"}, "'ethernet_gateway'"),
    ({**FIXED, "ethernet_dns": "192.0.2.1"}, "'ethernet_dns'"),
    ({**FIXED, "ethernet_dns": ["192.0.2.1"] * 4}, "'ethernet_dns'"),
    ({**FIXED, "ethernet_dns": ["192.0.2.1\n[Match]"]}, "'ethernet_dns'"),
    ({**FIXED, "ethernet_dns": ["fe80::1%eth0"]}, "'ethernet_dns'"),
    *(({**FIXED, "ethernet_interface": name}, "'ethernet_interface'") for name in NO_ADAPTERS),
]


@pytest.mark.parametrize(("request_", "named"), HOSTILE)
def test_what_cannot_be_used_is_refused_and_never_repeated(
    request_: dict[str, Any], named: str
) -> None:
    if not named:  # a country is cleaned, not copied
        assert change_in(request_).wifi == WifiNetwork("shed", "correct horse", "DE", hidden=False)
        return
    with pytest.raises(NetworkSettingsError, match=named) as refused:
        change_in(request_)
    assert "\n" not in str(refused.value)
    assert "correct horse" not in str(refused.value)
