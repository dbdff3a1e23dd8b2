"""The image's files agree with each other: places, names, and values in several files."""

import configparser
import re
import subprocess
import sys
from pathlib import Path

import pytest
from oncegate_device.card import DATA_PARTITION
from oncegate_device.places import Places
from oncegate_device.start import KEPT_TRIES, RELEASE
from oncegate_device.wanted import completed_for_image

from api.settings import ApiSettings
from tests.image.boot import card
from tests.image.boot import updates as card_updates

IMAGE = Path(__file__).resolve().parents[2] / "image"
OVERLAY = IMAGE / "overlay"
UNITS = OVERLAY / "usr/lib/systemd/system"
SIGNATURE = "4f6e6365"
SHELL_FILES = sorted(
    path
    for path in IMAGE.rglob("*")
    if path.is_file()
    and IMAGE / "deb" not in path.parents
    and path.read_bytes().startswith(b"#!/bin/sh")
)
OWN_UNITS = sorted(UNITS.glob("*.service"))
MIB = 1 << 20


def partitions() -> list[tuple[str, int, int]]:
    """Return name, offset and size in MiB of each partition, laid out like genimage with an
    alignment of 1 MiB."""
    text = (IMAGE / "genimage.cfg").read_text()
    boot = re.search(r"image boot\.vfat \{.*?size = (\d+)M", text, re.DOTALL)
    assert boot
    found, place = [], 0
    for name, body in re.findall(r"partition ([\w-]+) \{(.*?)\n    \}", text, re.DOTALL):
        offset = re.search(r"offset = (\d+)M", body)
        size = re.search(r"size = (\d+)M", body)
        place = int(offset[1]) if offset else place
        found.append((name, place, int(size[1] if size else boot[1])))
        place += found[-1][2]
    return found


def packages() -> list[str]:
    lines = (IMAGE / "packages.list").read_text().splitlines()
    return [name for line in lines if (name := line.partition("#")[0].strip())]


def test_the_partitions_are_where_the_tests_and_the_slots_size_say() -> None:
    named = {name: (offset * MIB, size) for name, offset, size in partitions()}
    assert list(named) == ["boot", "slot-a", "slot-b", "data"]
    assert named["boot"][0] == card.BOOT_OFFSET
    assert named["slot-a"][0] == card.SLOT_OFFSETS["A"]
    assert named["slot-b"][0] == card.SLOT_OFFSETS["B"]
    assert named["data"][0] == card.DATA_OFFSET
    assert named["slot-a"][1] == named["slot-b"][1] <= 700
    slot = (IMAGE / "hooks/slot").read_text()
    assert f"truncate -s {named['slot-a'][1]}M" in slot
    assert f"truncate -s {named['data'][1]}M" in (IMAGE / "build").read_text()


def test_every_program_names_the_partitions_by_the_signature_of_the_layout() -> None:
    assert f"disk-signature = 0x{SIGNATURE}" in (IMAGE / "genimage.cfg").read_text()
    rauc = configparser.ConfigParser()
    rauc.read(OVERLAY / "etc/rauc/system.conf")
    assert rauc["slot.rootfs.0"]["device"].endswith(f"{SIGNATURE}-02")
    assert rauc["slot.rootfs.1"]["device"].endswith(f"{SIGNATURE}-03")
    script = (IMAGE / "boot/boot.cmd").read_text()
    assert f"root=PARTUUID={SIGNATURE}-0${{part}}" in script
    initrd = (IMAGE / "initrd/scripts/local-bottom/partitions").read_text()
    assert f"device=/dev/disk/by-partuuid/{SIGNATURE}-04" in initrd
    assert f"boot=/dev/disk/by-partuuid/{SIGNATURE}-01" in initrd
    assert f"dev/disk/by-partuuid/{SIGNATURE}-04" == DATA_PARTITION


def test_updates_and_the_boot_script_agree_on_the_numbers_of_tries() -> None:
    rauc = configparser.ConfigParser()
    rauc.read(OVERLAY / "etc/rauc/system.conf")
    kept, tries = rauc["system"]["boot-attempts"], rauc["system"]["boot-attempts-primary"]
    # RAUC writes hexadecimal numbers, and U-Boot reads decimal ones.
    assert kept == "9"
    assert 0 < int(tries) < 9
    assert f"-lt {kept}" in (IMAGE / "boot/boot.cmd").read_text()
    assert kept == KEPT_TRIES
    assert f"BOOT_A_LEFT={kept}" in (IMAGE / "boot/uboot.env.txt").read_text()
    assert f"= {kept} ]" in (OVERLAY / "usr/lib/oncegate-device/mark-good").read_text()


ENVIRONMENT = (IMAGE / "boot/uboot.env.txt").read_text()
OF_DEBIAN = (
    b"bootcmd=bootflow scan\0bootdelay=2\0baudrate=115200\0preboot=pci enum; usb start;\0"
    b"dhcpuboot=usb start; dhcp u-boot.uimg; bootm\0boot_targets=mmc usb pxe dhcp\0"
    b"stdin=serial,usbkbd\0stdout=serial,vidconsole\0stderr=serial,vidconsole\0\0"
)
"""A part of the environment that is compiled into u-boot-rpi 2025.01."""


def test_u_boot_reads_nothing_on_the_header_s_uart_and_waits_for_no_key() -> None:
    variables = dict(line.split("=", 1) for line in ENVIRONMENT.splitlines())
    assert variables["bootdelay"] == "-2"
    assert variables["stdin"] == "nulldev"
    # A failure restarts the board, because no key would be read at U-Boot's prompt.
    assert variables["bootcmd"].endswith("; reset")


def test_u_boot_s_own_environment_is_replaced_for_the_day_when_the_file_is_damaged(
    tmp_path: Path,
) -> None:
    program = tmp_path / "u-boot.bin"
    before, after = b"\x7fcode\0a text\0\n\0", b"0123456789ABCDEF\0bootdelay\0more code"
    program.write_bytes(before + OF_DEBIAN + after)
    command = [IMAGE / "hooks/u-boot-default", program, IMAGE / "boot/uboot.env.txt"]
    subprocess.run(command, check=True)
    made = program.read_bytes()
    assert len(made) == len(before + OF_DEBIAN + after)
    assert made.startswith(before + b"bootcmd=load mmc 0:1 ")
    assert made.endswith(after)
    lines = made[len(before) :].partition(b"\0\0")[0].decode().split("\0")
    assert lines == [each for each in ENVIRONMENT.splitlines() if not each.startswith("BOOT_")]
    # The second run does not find the place: the program refuses and does not guess.
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "is this Debian's u-boot-rpi?" in refused.stderr


def test_the_bundle_is_for_the_system_that_the_card_states_it_is() -> None:
    rauc = configparser.ConfigParser()
    rauc.read(OVERLAY / "etc/rauc/system.conf")
    assert f"compatible={rauc['system']['compatible']}\n" in (IMAGE / "bundle").read_text()


def test_the_slot_states_its_version_where_bundle_and_card_look() -> None:
    install = (IMAGE / "hooks/install").read_text()
    assert 'STORE_FORMAT=%s\\n\' "$(dpkg-deb -f "$package" Version)" "$format"' in install
    assert f'>"$root/{RELEASE}"' in install
    assert f"cat /{RELEASE}" in (IMAGE / "bundle").read_text()
    assert f"/{RELEASE}" == card_updates.RELEASE


def test_a_bundle_can_be_streamed_from_the_network() -> None:
    # rauc in trixie is built with streaming; it uses libcurl's certificates and the driver nbd.
    assert "ca-certificates" in packages()
    removed = (IMAGE / "hooks/base-customize").read_text()
    assert "drivers/block" not in removed
    assert "drivers/md" not in removed
    assert "fs/squashfs" not in removed


def test_a_slot_is_recorded_as_given_up_before_and_as_kept_after_rauc_is_informed() -> None:
    text = (OVERLAY / "usr/lib/oncegate-device/mark-good").read_text()
    steps = ["record booted", "run healthy", "record unhealthy", "mark-$verdict", "record kept"]
    places = [text.index(step) for step in steps]
    assert places == sorted(places)
    # An update continues if its record cannot be written.
    assert "|| echo" in text[text.index("record() {") :].partition("}")[0]


def test_the_page_finds_the_card_s_file_where_it_is_written() -> None:
    assert Places().card == ApiSettings(status_socket=Path("/")).card_file
    tmpfiles = (OVERLAY / "usr/lib/tmpfiles.d/oncegate-device.conf").read_text()
    assert f"d {Places().run} 0755 root root -" in tmpfiles


def test_what_runs_at_every_start_imports_none_of_the_gateway_s_rooms() -> None:
    program = (
        "import sys, oncegate_device.__main__; "
        "print([name for name in sys.modules if name.split('.')[0] in ('gateway', 'pydantic')])"
    )
    environment = {"PYTHONPATH": str(IMAGE / "device")}
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "[]\n"
    assert "python3 -P -m oncegate_device" in (OVERLAY / "usr/lib/oncegate-device/run").read_text()


def test_a_slow_board_s_page_has_longer_to_start_than_elsewhere_and_the_check_longer_still() -> (
    None
):
    def seconds(unit: Path) -> int:
        found = re.search(r"^TimeoutStartSec=(\d+)min$", unit.read_text(), re.M)
        assert found, unit
        return 60 * int(found[1])

    elsewhere = seconds(IMAGE / "systemd/oncegate-api.service")
    here = seconds(UNITS / "oncegate-api.service.d/image.conf")
    assert elsewhere < here < seconds(UNITS / "device-mark-good.service")


def test_config_txt_names_only_files_that_are_put_beside_it() -> None:
    gathered = (IMAGE / "hooks/boot-partition").read_text()
    for line in (IMAGE / "boot/config.txt").read_text().splitlines():
        key, _, value = line.partition("=")
        if key in ("kernel", "initramfs", "device_tree", "armstub"):
            assert value in gathered


def test_the_boot_script_s_addresses_do_not_overlap_on_a_board_with_512_mib() -> None:
    script = (IMAGE / "boot/boot.cmd").read_text()

    def address(name: str) -> int:
        found = re.search(rf"setenv {name} (0x[0-9a-f]+)", script)
        assert found, name
        return int(found[1], 16)

    kernel, unpacked = address("kernel_address"), address("kernel_comp_addr_r")
    initrd, tree = address("initrd_address"), 128 * MIB
    # Debian's kernel takes 38 MB and some reserve, and the initial file system 11 MB.
    assert kernel + 48 * MIB <= unpacked
    assert unpacked + 48 * MIB <= tree
    assert tree + MIB <= initrd
    assert initrd + 64 * MIB <= 448 * MIB
    assert address("kernel_comp_size") <= 48 * MIB


@pytest.mark.parametrize("script", SHELL_FILES, ids=lambda path: path.name)
def test_every_shell_program_stops_at_a_failure_and_is_valid(script: Path) -> None:
    text = script.read_text()
    assert "set -eu" in text or "exec env" in text
    assert script.stat().st_mode & 0o111, f"chmod +x {script}"
    subprocess.run(["sh", "-n", script], check=True)


@pytest.mark.parametrize("unit", OWN_UNITS, ids=lambda path: path.name)
def test_every_unit_starts_a_program_that_the_overlay_brings(unit: Path) -> None:
    for program in re.findall(r"^Exec\w+=(/usr/lib/oncegate-device/\S+)", unit.read_text(), re.M):
        file = OVERLAY / program.removeprefix("/")
        assert file.exists(), program
        assert file.stat().st_mode & 0o111


def test_every_unit_of_the_preset_is_there_or_comes_from_a_package_of_the_list() -> None:
    brought = {
        "ssh.service": "openssh-server",
        "systemd-networkd.service": "systemd",
        "systemd-resolved.service": "systemd-resolved",
        "systemd-timesyncd.service": "systemd-timesyncd",
        "wpa_supplicant@wlan0.service": "wpasupplicant",
        "rauc.service": "rauc-service",
        "getty@tty1.service": "systemd",
    }
    preset = OVERLAY / "usr/lib/systemd/system-preset/50-oncegate-image.preset"
    for line in preset.read_text().splitlines():
        verb, name = line.split()
        if verb == "enable" and not name.startswith(("device-", "oncegate")):
            assert brought[name] in packages()


def test_nothing_on_the_card_has_a_password_or_lets_one_in() -> None:
    sshd = (OVERLAY / "etc/ssh/sshd_config.d/oncegate.conf").read_text()
    assert "PasswordAuthentication no" in sshd
    assert "AuthenticationMethods publickey" in sshd
    assert "passwd -q -l root" in (IMAGE / "hooks/install").read_text()
    assert not list(OVERLAY.rglob("shadow"))
    assert not list(OVERLAY.rglob("ssh_host_*"))


def test_the_owners_numbers_are_fixed_and_different() -> None:
    text = (OVERLAY / "usr/lib/sysusers.d/00-oncegate-image.conf").read_text()
    numbers = [line.split()[2] for line in text.splitlines() if line[:2] in ("u ", "g ")]
    assert len(numbers) == len(set(numbers)) == 8


def test_device_programs_import_no_room_but_those_their_docstring_names() -> None:
    folder = IMAGE / "device/oncegate_device"
    imported = {
        name
        for path in folder.glob("*.py")
        for name in re.findall(
            r"^ *from (gateway\.(?:broker|process)\.\w+|(?:gateway|firmware_bridge)\.\w+)"
            r"|^ *import (gateway[\w.]+)",
            path.read_text(),
            re.M,
        )
        for name in name
        if name
    }
    assert imported == {
        "firmware_bridge.protocols",
        "gateway.broker.access",
        "gateway.configuration",
        "gateway.process.declarations",
        "gateway.process",
        "gateway.process.files",
        "gateway.process.network_settings",
        "gateway.broker.wire",
    }


def test_the_page_s_port_is_open_to_a_service_without_rights() -> None:
    port = completed_for_image({}, has_users=False)["api"]["port"]
    sysctl = (OVERLAY / "etc/sysctl.d/50-oncegate.conf").read_text()
    assert f"net.ipv4.ip_unprivileged_port_start = {port}\n" in sysctl
