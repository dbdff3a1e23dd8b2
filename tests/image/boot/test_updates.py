"""Updates from slot A to slot B, and the return to A if B does not boot, is unhealthy, or was
interrupted.

Bundles are installed in `virt`, which is faster. `raspi3b` shows how U-Boot then boots.
"""

import contextlib
import json
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.image.boot.bundle_server import ADDRESS, BundleServer
from tests.image.boot.card import Card
from tests.image.boot.machine import PAGE, Machine, powered
from tests.image.boot.updates import MOUNT, UPDATE, bundle_of, install, stick_with

pytestmark = pytest.mark.timeout(3600)
IDENTITY = (
    "cat /etc/machine-id /var/lib/oncegate/gateway-id /var/lib/device/ssh/ssh_host_ed25519_key.pub"
)

Updated = Callable[..., AbstractContextManager[tuple[Machine, str]]]


@pytest.fixture
def updated(card: Card, image: Path, tmp_path: Path, key: Path) -> Updated:
    """Return a context manager that installs a bundle in `virt` and then boots the card on
    `raspi3b`.

    It yields the machine and the card's identity from before the update.
    """

    @contextlib.contextmanager
    def updated(
        version: str, *removed: str, install: Callable[[Machine], None] = install_and_power_off
    ) -> Iterator[tuple[Machine, str]]:
        stick = stick_with(bundle_of(image, tmp_path, version, removed))
        with powered(card, tmp_path, key=key, stick=stick) as machine:
            machine.wait_until_healthy()
            machine.run(MOUNT)
            before = machine.run(IDENTITY)
            install(machine)
        with powered(card, tmp_path, "raspi3b", key=key) as machine:
            yield machine, before

    return updated


def install_and_power_off(machine: Machine) -> None:
    install(machine)
    power_off_for_slot_b(machine)


def power_off_for_slot_b(machine: Machine) -> None:
    machine.power_off()
    environment = machine.card.environment()
    assert (environment["BOOT_ORDER"], environment["BOOT_B_LEFT"]) == ("B A", "3")


def wait_for_state(machine: Machine, state: str) -> None:
    """Wait until the page's record shows this state for the last update."""
    until = time.monotonic() + 900
    while (card_of(machine).get("update") or {}).get("state") != state:
        assert time.monotonic() < until, machine.run("oncegate-device status")
        time.sleep(5)


def card_of(machine: Machine) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(
        machine.run("cat /run/oncegate-device/card.json 2>/dev/null || echo '{}'")
    )
    return facts


def test_an_update_from_the_web_is_tried_and_kept_and_data_and_identity_stay(
    card: Card, image: Path, tmp_path: Path, key: Path
) -> None:
    with (
        BundleServer(bundle_of(image, tmp_path, "2.0"), tmp_path) as server,
        powered(card, tmp_path, key=key, host_port=server.port) as machine,
    ):
        machine.wait_until_healthy()
        before = machine.run(IDENTITY)
        server.trust(machine)
        install(machine, ADDRESS)
        # The bundle was read in parts during the installation, so no copy of it needed space next
        # to the slot.
        assert server.requests > 10
        power_off_for_slot_b(machine)
    with powered(card, tmp_path, "raspi3b", key=key) as machine:
        machine.wait_for_console("Slot B is kept")
        machine.wait_until_up()
        assert "rauc.slot=B" in machine.run("cat /proc/cmdline")
        assert machine.run(IDENTITY) == before
        wait_for_state(machine, "kept")
        assert "Version 2.0 in slot B was healthy and is kept" in machine.run(
            "oncegate-device status"
        )
        address = f"http://127.0.0.1:{machine.port(PAGE)}/api/v1/card"
        with urllib.request.urlopen(address, timeout=60) as answer:
            assert json.load(answer)["facts"]["booted"]["version"] == "2.0"
        machine.power_off()
    assert card.environment()["BOOT_B_LEFT"] == "9"
    # The backup copy of U-Boot's environment, used if a cut damages the original, has the new
    # values.
    assert b"BOOT_ORDER=B A" in card.get("uboot.bak")


def test_a_slot_that_has_no_kernel_is_left_for_the_other_immediately(updated: Updated) -> None:
    with updated("2.1", "/boot/Image.gz") as (machine, _):
        machine.wait_for_console("Slot B cannot be started")
        machine.wait_for_console("Starting slot A")
        machine.wait_until_up()
        assert "rauc.slot=A" in machine.run("cat /proc/cmdline")
        wait_for_state(machine, "returned")


def test_a_slot_whose_kernel_finds_no_system_is_tried_three_times_and_left(
    updated: Updated,
) -> None:
    with updated("2.2", "/usr/lib/systemd/systemd") as (machine, _):
        machine.wait_for_console("Starting slot A", 1800)
        assert machine.text().count("Starting slot B") == 3
        machine.wait_until_up()
        wait_for_state(machine, "returned")


def test_a_slot_whose_gateway_is_not_healthy_is_left_by_itself(updated: Updated) -> None:
    with updated("2.3", "/usr/bin/oncegate") as (machine, _):
        machine.wait_for_console("going back to the other slot", 1800)
        machine.wait_for_console("Starting slot A", 600)
        assert machine.text().count("Starting slot B") == 1
        machine.wait_until_up()
        wait_for_state(machine, "unhealthy")


def test_a_power_cut_during_an_update_leaves_the_slot_that_runs(
    card: Card, updated: Updated
) -> None:
    with updated("2.4", install=install_and_cut_power) as (machine, _):
        machine.wait_for_console("Starting slot A")
        machine.wait_until_healthy()
        wait_for_state(machine, "interrupted")


def install_and_cut_power(machine: Machine) -> None:
    machine.run(f"systemd-run --unit=install {UPDATE}")
    # Wait until the slot itself is being written.
    wait_for_sectors_written(machine, "vda3")
    machine.cut_power()
    assert machine.card.environment()["BOOT_ORDER"].split()[0] == "A"


def wait_for_sectors_written(machine: Machine, partition: str) -> None:
    until = time.monotonic() + 600
    while machine.sectors_written(partition) <= 20_000:
        assert time.monotonic() < until, "nothing is written to the other slot"
