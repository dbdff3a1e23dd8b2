"""Addresses, router, name servers and signal, as the kernel of this machine shows them."""

import json
from pathlib import Path

import pytest

from api.status import network
from api.status.network import NetworkReader
from tests.api.card_site import SETTINGS

ROUTES = """\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
wlan0\t00000000\t0100A8C0\t0003\t0\t0\t2048\t00000000\t0\t0\t0
end0\t00000000\t010200C0\t0003\t0\t0\t1024\t00000000\t0\t0\t0
end0\t000200C0\t00000000\t0001\t0\t0\t1024\t00FFFFFF\t0\t0\t0
"""
WIRELESS = """\
Inter-| sta-|   Quality        |   Discarded packets               | Missed | WE
 face | tus | link level noise |  nwid  crypt   frag  retry   misc | beacon | 22
 wlan0: 0000   49.  -61.  -256        0      0      0      0      0        0
"""
IF_INET6 = """\
20010db8000000000000000000000007 02 40 00 80     end0
fe800000000000000000000000000001 02 40 20 80     end0
nonsense
"""


def reader(folder: Path, report: object) -> NetworkReader:
    """Return a reader of a card's report, and of a kernel's files in `folder`."""
    (folder / "proc/net").mkdir(parents=True)
    for name, text in (("route", ROUTES), ("wireless", WIRELESS), ("if_inet6", IF_INET6)):
        (folder / "proc/net" / name).write_text(text)
    for name in ("lo", "end0", "wlan0", "sit0"):
        (folder / "class" / name).mkdir(parents=True)
    (folder / "class/wlan0/wireless").mkdir()
    (folder / "resolv.conf").write_text("# made\nnameserver 192.0.2.1\nnameserver 2001:db8::1\nx\n")
    (folder / "card.json").write_text(json.dumps(report))
    return NetworkReader(
        folder / "card.json", folder / "proc", folder / "class", folder / "resolv.conf"
    )


def test_the_kernel_s_files_are_read(tmp_path: Path) -> None:
    shown = reader(tmp_path, {"network": SETTINGS}).read()
    assert shown is not None
    assert shown.gateway == "192.0.2.1", "the route with the lowest metric"
    assert shown.dns == ["192.0.2.1", "2001:db8::1"]
    end0, wlan0 = shown.interfaces
    assert (end0.name, end0.addresses) == ("end0", ["2001:db8::7/64"])
    assert (wlan0.signal_dbm, wlan0.ssid, wlan0.is_wireless) == (-61, None, True)


@pytest.mark.parametrize(("named", "missing"), [(None, None), ("end0", None), ("eth1", "eth1")])
def test_an_adapter_that_the_machine_lacks_is_reported(
    tmp_path: Path, named: str | None, missing: str | None
) -> None:
    ethernet: dict[str, object] = {
        "address": "192.0.2.10/24",
        "gateway": None,
        "dns": [],
        "interface": named,
    }
    shown = reader(tmp_path, {"network": {**SETTINGS, "ethernet": ethernet}}).read()
    assert shown is not None
    assert shown.missing_adapter == missing


def test_this_machine_s_own_addresses_are_found() -> None:
    assert ("lo", "127.0.0.1/8") in list(network._ipv4())


@pytest.mark.parametrize(
    "report",
    [
        {"network": None},
        {"network": {"wifi": 1}},
        [],
        "x" * 400_000,
    ],
)
def test_without_a_report_of_the_network_this_is_no_card(tmp_path: Path, report: object) -> None:
    assert reader(tmp_path, report).read() is None


def test_without_the_kernel_s_files_the_settings_are_shown(tmp_path: Path) -> None:
    (tmp_path / "card.json").write_text(json.dumps({"network": SETTINGS}))
    none = tmp_path / "none"
    shown = NetworkReader(tmp_path / "card.json", none, none, none).read()
    assert shown is not None
    assert (shown.interfaces, shown.gateway, shown.dns) == ([], None, [])
