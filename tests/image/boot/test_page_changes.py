"""Name, network and updates of a booted card, changed at its page by an administrator."""

from pathlib import Path

import pytest

from tests.image.boot.administrator import Administrator
from tests.image.boot.bundle_server import ADDRESS, BundleServer
from tests.image.boot.card import Card
from tests.image.boot.conftest import PASSWORD, USER, provisioning_file
from tests.image.boot.machine import powered
from tests.image.boot.updates import bundle_of

pytestmark = pytest.mark.timeout(3600)
QEMU_S = {"ethernet_gateway": "10.0.2.2", "ethernet_dns": ["10.0.2.3"]}
OWN = {"own_password": PASSWORD}


@pytest.fixture
def card(image: Path, key: Path, tmp_path: Path) -> Card:
    """Return a card whose user is an administrator of the page."""
    made = Card(image, tmp_path / "card.img")
    text = provisioning_file(key)
    made.put(
        "gateway.toml",
        text.replace("allow_anonymous_network = true", f'administrators = ["{USER}"]'),
    )
    return made


def test_a_name_is_kept_and_a_wrong_address_locks_no_operator_out(
    card: Card, tmp_path: Path, key: Path
) -> None:
    with powered(card, tmp_path, key=key) as machine:
        machine.wait_until_healthy()
        page = Administrator(machine)
        page.ask("/api/v1/network/change", hostname="shed-2", **OWN)
        assert page.wait_for_network("trial", shown="shed-2")["hostname"] == "shed-2"
        page.ask("/api/v1/network/keep")
        page.wait_for_network("kept")
        assert machine.run("hostname") == "shed-2"
        assert 'hostname = "shed-2"' in machine.run("cat /boot/firmware/gateway.toml")
        assert "shed-2" in machine.run("cat /boot/firmware/gateway-report.txt")
        wrong = {"ethernet": "fixed", "ethernet_address": "10.0.2.77/24"}
        page.ask("/api/v1/network/change", **wrong, **QEMU_S, **OWN)
        page.wait_until_away()
        network = page.wait_for_network("undone")
        assert "not kept in time" in network["change"]["sentence"]
        right = {"ethernet": "fixed", "ethernet_address": "10.0.2.15/24"}
        page.ask("/api/v1/network/change", **right, **QEMU_S, **OWN)
        network = page.wait_for_network("trial", shown="10.0.2.15/24")
        assert "10.0.2.15/24" in str(network["interfaces"])
        page.ask("/api/v1/network/keep")
        page.wait_for_network("kept")
        assert machine.run("systemctl --failed --plain --no-legend") == ""
        page.ask("/api/v1/network/change", hostname="not-kept", **OWN)
        page.wait_for_network("trial")
        machine.cut_power()
    with powered(card, tmp_path, key=key) as machine:
        machine.wait_until_healthy()
        assert machine.run("hostname") == "shed-2"
        addresses = machine.run("ip -4 -brief address")
        assert "10.0.2.15/24" in addresses
        assert "dynamic" not in machine.run("ip -4 address")
        network = Administrator(machine).wait_for_network("undone")
        assert (network["gateway"], network["dns"]) == ("10.0.2.2", ["10.0.2.3"])
        machine.power_off()
    assert PASSWORD.encode() not in card.get("gateway.toml")


def test_an_update_is_installed_at_the_page_and_the_version_before_it_returns(
    card: Card, image: Path, tmp_path: Path, key: Path
) -> None:
    with (
        BundleServer(bundle_of(image, tmp_path, "2.0"), tmp_path) as server,
        powered(card, tmp_path, key=key, host_port=server.port) as machine,
    ):
        machine.wait_until_healthy()
        server.trust(machine)
        page = Administrator(machine)
        page.ask("/api/v1/card/update", source=ADDRESS, **OWN)
        shown = page.wait_for_update("installed")
        assert {each for each in shown if 0 < each < 100}, shown
        machine.power_off()
        environment = card.environment()
        assert (environment["BOOT_ORDER"], environment["BOOT_B_LEFT"]) == ("B A", "3")
    with powered(card, tmp_path, key=key, slot="B") as machine:
        machine.wait_until_healthy()
        page = Administrator(machine)
        page.wait_for_update("kept")
        page.ask("/api/v1/card/back", **OWN)
        page.wait_for_update("installed")
        machine.power_off()
        environment = card.environment()
        assert (environment["BOOT_ORDER"], environment["BOOT_A_LEFT"]) == ("A B", "3")
    with powered(card, tmp_path, key=key) as machine:
        machine.wait_until_healthy()
        Administrator(machine).wait_for_update("kept")
        machine.power_off()
    assert card.environment()["BOOT_A_LEFT"] == "9"
