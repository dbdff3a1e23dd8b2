"""The files of name and network: what is written is what is read, whatever a network is called."""

from pathlib import Path

import pytest
from oncegate_device.network_files import (
    ETHERNET,
    settings_of,
    stored_psk_of,
    write_ethernet,
    write_hostname,
    write_wifi,
)

from gateway.process.network_settings import EthernetAddress, WifiNetwork


@pytest.mark.parametrize("ssid", ["shed", "Müller's", 'a"b\\', "psk=1", "#", "ssid=00"])
def test_what_is_written_is_read_without_the_secret(tmp_path: Path, ssid: str) -> None:
    write_hostname("cabinet-7", tmp_path)
    write_wifi(WifiNetwork(ssid, "battery horse", "DE", hidden=True), tmp_path)
    write_ethernet(EthernetAddress("192.0.2.10/24", "192.0.2.1", ("192.0.2.1", "::1")), tmp_path)
    assert settings_of(tmp_path) == {
        "hostname": "cabinet-7",
        "wifi": {"ssid": ssid, "country": "DE", "hidden": True},
        "ethernet": {
            "address": "192.0.2.10/24", "gateway": "192.0.2.1", "dns": ["192.0.2.1", "::1"],
            "interface": None,
        },
    }  # fmt: skip
    key = stored_psk_of(ssid, tmp_path)
    assert key is not None
    assert stored_psk_of("other", tmp_path) is None
    write_wifi(WifiNetwork(ssid, "", None, hidden=False), tmp_path)
    assert stored_psk_of(ssid, tmp_path) == key, "an empty password keeps the stored one"
    for file in ("wpa_supplicant/wpa_supplicant-wlan0.conf",):
        assert "battery horse" not in (tmp_path / file).read_text()
        assert (tmp_path / file).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("interface", "match"),
    [
        (None, "[Match]\nType=ether\n[Network]"),
        ("eth0", "[Match]\nType=ether\nName=eth0\n[Network]"),
    ],
)
def test_a_fixed_address_is_for_the_named_adapter_or_for_all(
    tmp_path: Path, interface: str | None, match: str
) -> None:
    write_hostname("cabinet-7", tmp_path)
    write_ethernet(EthernetAddress("192.0.2.10/24", interface=interface), tmp_path)
    assert f"\n{match}\nAddress=192.0.2.10/24\n" in (tmp_path / ETHERNET).read_text()
    assert settings_of(tmp_path)["ethernet"] == {
        "address": "192.0.2.10/24", "gateway": None, "dns": [], "interface": interface,
    }  # fmt: skip


def test_without_files_the_card_has_its_first_name_and_dhcp(tmp_path: Path) -> None:
    nothing = {"hostname": "oncegate", "wifi": None, "ethernet": None}
    assert settings_of(tmp_path) == nothing
    write_hostname("oncegate", tmp_path)
    write_wifi(None, tmp_path)
    write_ethernet(None, tmp_path)
    assert settings_of(tmp_path) == nothing
