"""Updates: from slot A to B, and back where B does not boot, is not healthy, or was cut.

Bundles are installed in `virt`, which is faster; what U-Boot makes of it is seen on `raspi3b`.
"""

import time
from pathlib import Path

import pytest

from tests.image.boot.card import Card
from tests.image.boot.machine import Machine, powered
from tests.image.boot.updates import stick_with_bundle

pytestmark = pytest.mark.timeout(3600)
MOUNT = "mkdir -p /run/stick && mount -o ro /dev/sda /run/stick"


def install(machine: Machine) -> None:
    machine.wait_until_up()
    machine.run(MOUNT)
    machine.run("oncegate-device update /run/stick/update.raucb", seconds=900)


def identity_of(machine: Machine) -> str:
    host_key = "/var/lib/device/ssh/ssh_host_ed25519_key.pub"
    return machine.run(f"cat /etc/machine-id /var/lib/oncegate/gateway-id {host_key}")


def test_an_update_is_tried_and_kept_and_data_and_identity_stay(
    card: Card, image: Path, tmp_path: Path, key: Path
) -> None:
    stick = stick_with_bundle(image, tmp_path, "2.0", ())
    with powered(card, tmp_path, key=key, stick=stick) as machine:
        install(machine)
        before = identity_of(machine)
        machine.power_off()
    assert card.environment()["BOOT_ORDER"] == "B A"
    assert card.environment()["BOOT_B_LEFT"] == "3"
    with powered(card, tmp_path, "raspi3b", key=key) as machine:
        machine.wait_for_console("Slot B is kept")
        machine.wait_until_up()
        assert machine.run("cat /etc/oncegate-test-version") == "2.0"
        assert "rauc.slot=B" in machine.run("cat /proc/cmdline")
        assert identity_of(machine) == before
        machine.power_off()
    assert card.environment()["BOOT_B_LEFT"] == "9"
    # The environment that a cut spoils is replaced by what counts now.
    assert b"BOOT_ORDER=B A" in card.get("uboot.bak")


def test_a_slot_that_has_no_kernel_is_left_for_the_other_at_once(
    card: Card, image: Path, tmp_path: Path, key: Path
) -> None:
    stick = stick_with_bundle(image, tmp_path, "2.1", ("/boot/Image.gz",))
    with powered(card, tmp_path, key=key, stick=stick) as machine:
        install(machine)
        machine.power_off()
    with powered(card, tmp_path, "raspi3b", key=key) as machine:
        machine.wait_for_console("Slot B cannot be started")
        machine.wait_for_console("Starting slot A")
        machine.wait_until_up()
        assert "rauc.slot=A" in machine.run("cat /proc/cmdline")


def test_a_slot_whose_kernel_finds_no_system_is_tried_three_times_and_left(
    card: Card, image: Path, tmp_path: Path, key: Path
) -> None:
    stick = stick_with_bundle(image, tmp_path, "2.2", ("/usr/lib/systemd/systemd",))
    with powered(card, tmp_path, key=key, stick=stick) as machine:
        install(machine)
        machine.power_off()
    with powered(card, tmp_path, "raspi3b", key=key) as machine:
        machine.wait_for_console("Starting slot A", 1800)
        assert machine.text().count("Starting slot B") == 3
        machine.wait_until_up()


def test_a_slot_whose_gateway_is_not_healthy_is_left_by_itself(
    card: Card, image: Path, tmp_path: Path, key: Path
) -> None:
    stick = stick_with_bundle(image, tmp_path, "2.3", ("/usr/bin/oncegate",))
    with powered(card, tmp_path, key=key, stick=stick) as machine:
        install(machine)
        machine.power_off()
    with powered(card, tmp_path, "raspi3b", key=key) as machine:
        machine.wait_for_console("going back to the other slot", 1800)
        machine.wait_for_console("Starting slot A", 600)
        assert machine.text().count("Starting slot B") == 1
        machine.wait_until_up()


def test_a_power_cut_during_an_update_leaves_the_slot_that_runs(
    card: Card, image: Path, tmp_path: Path, key: Path
) -> None:
    stick = stick_with_bundle(image, tmp_path, "2.4", ())
    with powered(card, tmp_path, key=key, stick=stick) as machine:
        machine.wait_until_up()
        machine.run(MOUNT)
        start = "systemd-run --unit=install oncegate-device update /run/stick/update.raucb"
        machine.run(start)
        # Once the slot itself is being written.
        wait_for_sectors_written(machine, "vda3")
        machine.cut_power()
    assert card.environment()["BOOT_ORDER"].split()[0] == "A"
    with powered(card, tmp_path, "raspi3b", key=key) as machine:
        machine.wait_for_console("Starting slot A")
        machine.wait_until_healthy()


def wait_for_sectors_written(machine: Machine, partition: str) -> None:
    until = time.monotonic() + 600
    while True:
        written = int(machine.run(f"cut -d' ' -f 7- /sys/class/block/{partition}/stat").split()[0])
        if written > 20_000:
            return
        assert time.monotonic() < until, "nothing is written to the other slot"
