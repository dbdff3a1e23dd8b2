"""The card's units for name and network in a booted Debian 13, with its own systemd-networkd.

    python -m pytest tests/image/installed_card.py        as root; a part of `make deb-test`

systemd, its confinement of services and systemd-networkd are real, and the machine has two Ethernet
interfaces. It has no slots and no boot partition: the kernel's command line is a file, and so
ProtectProc= is off for the unit that reads it. `make test` does not collect it: it boots a machine.
"""

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.image.machine import Machine, make_root
from tests.image.packages import ROOT

OVERLAY = ROOT / "image/overlay"
UNITS = ("oncegate-network.path", "oncegate-network.service", "oncegate-network.timer",
         "oncegate-update.path", "oncegate-update.service", "device-network-apply.service",
         "device-network-keep.service")  # fmt: skip
REQUESTS = "/run/oncegate/card-requests"
WIRED, OTHER = "eth7", "other"
TRIAL_SECONDS = 12.0
DEADLINE_SECONDS = 60.0
pytestmark = pytest.mark.timeout(1800)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Boot a Debian 13 with the card's programs and units, and two Ethernet interfaces."""
    made = Machine(tmp_path_factory.mktemp("card") / "root")
    make_root("trixie", ROOT / "build/deb/card-machine.tar", made.root, ("iproute2",))
    put_card_into(made.root)
    try:
        made.start()
        made.said("systemd-sysusers")
        made.said("systemd-tmpfiles", "--create", "oncegate.conf", "oncegate-device.conf")
        made.said("mount", "--bind", "/root/cmdline", "/proc/cmdline")
        made.said("python3", "-c", ADD_INTERFACES)
        made.said("systemctl", "start", "systemd-networkd.service")
        made.said("systemctl", "start", "oncegate-network.path", "oncegate-update.path")
        yield made
    finally:
        made.remove()


ADD_INTERFACES = (
    "import subprocess; "
    f"subprocess.run(['ip', 'link', 'add', '{WIRED}', 'type', 'veth', 'peer', 'name', '{OTHER}'], "
    "check=True); "
    f"subprocess.run(['ip', 'link', 'set', '{OTHER}', 'up'], check=True)"
)


def put_card_into(root: Path) -> None:
    """Copy the card's programs and units into a root directory, with a short trial."""
    units = root / "usr/lib/systemd/system"
    for name in UNITS:
        shutil.copy(OVERLAY / "usr/lib/systemd/system" / name, units)
    shutil.copytree(ROOT / "image/systemd/oncegate-.service.d", units / "oncegate-.service.d")
    programs = root / "usr/lib/oncegate-device"
    shutil.copytree(OVERLAY / "usr/lib/oncegate-device", programs)
    ignored = shutil.ignore_patterns("__pycache__", "*.so")
    shutil.copytree(ROOT / "image/device/oncegate_device", programs / "oncegate_device",
                    ignore=ignored)  # fmt: skip
    shutil.copytree(ROOT / "gateway/process", programs / "gateway/process", ignore=ignored)
    shutil.copy(ROOT / "gateway/__init__.py", programs / "gateway/__init__.py")
    network = programs / "oncegate_device/network.py"
    text = network.read_text()
    assert "\nTRIAL_SECONDS = 300.0\n" in text
    network.write_text(text.replace("TRIAL_SECONDS = 300.0", f"TRIAL_SECONDS = {TRIAL_SECONDS}"))
    python = root / "usr/lib/oncegate/bin/python3"
    python.parent.mkdir(parents=True)
    python.symlink_to("/usr/bin/python3")
    shutil.copy(ROOT / "image/systemd/sysusers.conf", root / "usr/lib/sysusers.d/oncegate.conf")
    shutil.copy(ROOT / "image/systemd/tmpfiles.conf", root / "usr/lib/tmpfiles.d/oncegate.conf")
    shutil.copy(OVERLAY / "usr/lib/tmpfiles.d/oncegate-device.conf", root / "usr/lib/tmpfiles.d")
    for name in ("20-wired.network", "30-wireless.network"):
        folder = root / "etc/systemd/network"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(OVERLAY / "etc/systemd/network" / name, folder)
    (root / "root/cmdline").write_text("ro rauc.slot=A\n")
    for unit, lines in (
        ("oncegate-network.service", "[Service]\nProtectProc=default\n"),
        ("oncegate-update.service", "[Service]\nProtectProc=default\n"),
        ("oncegate-network.timer", f"[Timer]\nOnActiveSec=\nOnActiveSec={TRIAL_SECONDS + 1}s\n"),
    ):
        drop_in = root / f"etc/systemd/system/{unit}.d"
        drop_in.mkdir(parents=True)
        (drop_in / "test.conf").write_text(lines)


def ask(machine: Machine, name: str, **given: object) -> None:
    """Write a request as the broker does: as its user, and whole."""
    program = (
        "import os, sys; os.umask(0o027); place, text = sys.argv[1:]; "
        "part = os.path.join(os.path.dirname(place), '.part'); "
        "open(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o640), 'w').write(text); "
        "os.rename(part, place)"
    )
    as_broker = ("setpriv", "--reuid=oncegate-broker", "--regid=oncegate-broker", "--clear-groups")
    machine.said(*as_broker, "python3", "-c", program, f"{REQUESTS}/{name}", json.dumps(given))


def change_of(machine: Machine) -> dict[str, object]:
    try:
        facts = json.loads((machine.root / "run/oncegate-device/card.json").read_text())
    except FileNotFoundError:
        facts = json.loads(machine.said("cat", "/run/oncegate-device/card.json", check=False)
                           .partition("cat: ")[0] or "{}")  # fmt: skip
    change: dict[str, object] = facts.get("network", {}).get("change") or {}
    return change


def wait_until(machine: Machine, is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, machine.said(
            "journalctl", "-b", "--no-pager", "-n", "80"
        )
        time.sleep(0.3)


def addresses_of(machine: Machine, interface: str = WIRED) -> str:
    return machine.said("ip", "-4", "-brief", "address", "show", interface)


def test_a_name_and_an_address_are_applied_and_return_when_nothing_keeps_them(
    machine: Machine,
) -> None:
    before = machine.said("cat", "/proc/sys/kernel/hostname")
    machine.said("sh", "-c", f"echo {before} >/var/lib/device/hostname")
    ask(machine, "change_network", hostname="shed-2", ethernet="fixed",
        ethernet_address="192.0.2.10/24", ethernet_gateway="192.0.2.1",
        ethernet_dns=["192.0.2.1"])  # fmt: skip
    wait_until(machine, lambda: change_of(machine).get("state") == "trial")
    wait_until(machine, lambda: "192.0.2.10/24" in addresses_of(machine))
    assert machine.said("cat", "/proc/sys/kernel/hostname") == "shed-2"
    assert "via 192.0.2.1" in machine.said("ip", "route", "show", "default")
    assert machine.said("ls", "-A", REQUESTS) == ""
    wait_until(machine, lambda: change_of(machine).get("state") == "undone")
    wait_until(machine, lambda: "192.0.2.10" not in addresses_of(machine))
    assert machine.said("cat", "/proc/sys/kernel/hostname") == before
    assert "failed" not in machine.said("systemctl", "is-failed", *UNITS, check=False).split()


def test_a_fixed_address_is_given_to_the_named_adapter_and_the_other_one_uses_dhcp(
    machine: Machine,
) -> None:
    ask(machine, "change_network", ethernet="fixed", ethernet_address="192.0.2.10/24",
        ethernet_interface=WIRED)  # fmt: skip
    wait_until(machine, lambda: change_of(machine).get("state") == "trial")
    wait_until(machine, lambda: "192.0.2.10/24" in addresses_of(machine))
    files = {name: machine.said("networkctl", "status", name) for name in (WIRED, OTHER)}
    assert "Network File: /run/systemd/network/10-wired.network" in files[WIRED]
    assert "Network File: /etc/systemd/network/20-wired.network" in files[OTHER]
    assert "192.0.2.10" not in addresses_of(machine, OTHER)
    wait_until(machine, lambda: change_of(machine).get("state") == "undone")
    wait_until(machine, lambda: "192.0.2.10" not in addresses_of(machine))


def test_a_change_that_is_kept_is_on_the_boot_partition_and_is_not_undone(machine: Machine) -> None:
    machine.said("mkdir", "-p", "/boot/firmware")
    machine.said("mount", "-t", "tmpfs", "-o", "size=1m", "boot", "/boot/firmware")
    machine.said("mount", "-o", "remount,ro", "/boot/firmware")
    ask(machine, "change_network", hostname="shed-3")
    wait_until(machine, lambda: change_of(machine).get("state") == "trial")
    ask(machine, "keep_network")
    wait_until(machine, lambda: change_of(machine).get("state") == "kept")
    assert 'hostname = "shed-3"' in machine.said("cat", "/boot/firmware/gateway.toml")
    assert "called shed-3" in machine.said("cat", "/boot/firmware/gateway-report.txt")
    assert "ro" in machine.said("findmnt", "-no", "OPTIONS", "/boot/firmware").split(",")
    time.sleep(TRIAL_SECONDS + 3)
    assert change_of(machine)["state"] == "kept"
    assert machine.said("cat", "/proc/sys/kernel/hostname") == "shed-3"


def test_the_unit_that_reads_a_request_follows_no_link_and_has_no_rights(
    machine: Machine,
) -> None:
    as_broker = ("setpriv", "--reuid=oncegate-broker", "--regid=oncegate-broker", "--clear-groups")
    machine.said(*as_broker, "ln", "-s", "/etc/shadow", f"{REQUESTS}/change_network")
    wait_until(machine, lambda: machine.said("ls", "-A", REQUESTS) == "")
    wait_until(machine, lambda: change_of(machine).get("state") == "refused")
    assert machine.said("stat", "-c", "%U", "/etc/shadow") == "root"
    shown = machine.said("systemctl", "show", "-p", "CapabilityBoundingSet", "oncegate-network")
    assert shown == "CapabilityBoundingSet="


def test_a_start_undoes_what_was_on_trial(machine: Machine) -> None:
    ask(machine, "change_network", hostname="not-kept")
    wait_until(machine, lambda: change_of(machine).get("state") == "trial")
    machine.said("/usr/lib/oncegate-device/run", "network-restore")
    assert machine.said("cat", "/var/lib/device/hostname") != "not-kept"


def test_a_hostile_update_is_refused_without_rights(machine: Machine) -> None:
    ask(machine, "install_update", source="--rollback-ends")
    wait_until(machine, lambda: machine.said("ls", "-A", REQUESTS) == "")
    card = "/run/oncegate-device/card.json"
    wait_until(machine, lambda: "cannot be used" in machine.said("cat", card))
