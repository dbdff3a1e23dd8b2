"""A board in QEMU with a card in it.

`virt` is a made-up board with the slot's own kernel, faster; `raspi3b` goes the Pi's way through
U-Boot. Both have a USB serial adapter whose other end is a Unix socket on the host, and forward
three ports of the guest to loopback. The guest reaches nothing beyond QEMU but one port of the
host's loopback, where a test asks for it.
"""

import contextlib
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.image.boot.bare_debian import BareDebian
from tests.image.boot.card import Card
from tests.image.boot.qmp import Qmp

PAGE, MQTT, SSH = 80, 1883, 22
HOST, HOST_PORT = "10.0.2.100", 9000
"""Where the guest finds the host's `host_port`."""
BOOT_SECONDS_MAX = 900.0
"""A quiet machine takes 75 s; one that does much beside it has taken ten times that."""
ADAPTER = "adapter"
"""What QEMU calls the USB serial adapter."""
EXTRA = "oncegate.watchdog=off"
"""Opening the watchdog of the emulated Pi resets it."""
EXTRA_ON_PI = f"{EXTRA} oncegate.healthy_within=300"
"""A slot that is not healthy is given up after five minutes, not ten."""

_COLOURS = re.compile("\x1b\\[[0-9;]*m")


def block_stat(block: str) -> str:
    """Where the kernel counts for a disk or partition (its Documentation/block/stat.rst)."""
    return f"/sys/class/block/{block}/stat"


def sectors_written(line: str) -> int:
    """Sectors of 512 bytes, of that file's line."""
    return int(line.split()[6])


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class Machine:
    """One power-on: started by the constructor, ended by `cut_power` or `power_off`."""

    def __init__(
        self,
        card: Card,
        folder: Path,
        kind: str = "virt",
        *,
        key: Path,
        slot: str = "A",
        stick: Path | None = None,
        host_port: int | None = None,
        bare: BareDebian | None = None,
        write_log: Path | None = None,
        uart: bool = False,
    ) -> None:
        self.card = card
        self.kind = kind
        self.console = folder / f"console-{time.monotonic_ns()}.log"
        self.serial = folder / "sensor.sock"
        self.uart = folder / "uart.sock"
        self._control = folder / "qmp.sock"
        self._key = key
        self._ports = {port: free_port() for port in (PAGE, MQTT, SSH)}
        forwards = "".join(
            f",hostfwd=tcp:127.0.0.1:{host}-:{guest}" for guest, host in self._ports.items()
        )
        if host_port is not None:
            command = f"cmd:nc 127.0.0.1 {host_port}"
            forwards += f",guestfwd=tcp:{HOST}:{HOST_PORT}-{command}"
        network = f"user,id=n0,restrict=on{forwards}"
        self.serial.unlink(missing_ok=True)
        common = [
            "-netdev", network, "-display", "none", "-monitor", "none",
            "-qmp", f"unix:{self._control},server=on,wait=off",
            "-chardev", f"socket,id=ser,path={self.serial},server=on,wait=off",
            "-chardev", _console(self.console, self.uart if uart else None),
        ]  # fmt: skip
        if bare is not None:
            drive = _drive(bare.disk)
            kind_arguments = _virt(bare.kernel, bare.initrd, drive, "root=/dev/vda")
        elif kind == "raspi3b":
            if not uart:
                self.card.set_environment({"extra_arguments": EXTRA_ON_PI})
            kind_arguments = self._raspi(folder)
        else:
            drive = _drive(card.file) if write_log is None else _logged(card.file, write_log)
            kind_arguments = self._slot_in_virt(folder, slot, drive)
        if stick is not None:
            common += ["-drive", f"file={stick},format=raw,if=none,id=stick"]
            common += ["-device", "usb-storage,drive=stick"]
        self.started = time.monotonic()
        self._qemu = subprocess.Popen(
            ["qemu-system-aarch64", *kind_arguments, *common],
            stdin=subprocess.DEVNULL, stderr=(folder / "qemu.log").open("ab"),
        )  # fmt: skip

    def port(self, guest: int) -> int:
        """The port on the host's loopback that reaches the guest's."""
        return self._ports[guest]

    def text(self) -> str:
        """The console so far, without its colours."""
        with contextlib.suppress(FileNotFoundError):
            return _COLOURS.sub("", self.console.read_text(errors="replace"))
        return ""

    def wait_for_console(self, wanted: str, seconds: float = BOOT_SECONDS_MAX) -> float:
        """Seconds from power-on until the console shows `wanted`."""
        self._wait(lambda: wanted in self.text(), seconds, f"the console does not show {wanted!r}")
        return time.monotonic() - self.started

    def wait_until_up(self) -> float:
        """Seconds from power-on until the guest takes commands."""
        # On raspi3b connections during the boot leave the emulated network stuck.
        if self.kind == "raspi3b":
            self.wait_for_console("login:")
        is_up = lambda: self._ssh("true").returncode == 0  # noqa: E731
        self._wait(is_up, BOOT_SECONDS_MAX, "sshd does not answer")
        return time.monotonic() - self.started

    def wait_until_healthy(self) -> float:
        """Seconds from power-on until the gateway does what it is for."""
        self.wait_until_up()
        healthy = lambda: self._ssh("oncegate-device healthy", 180).returncode == 0  # noqa: E731
        self._wait(healthy, 600, "the gateway is not healthy")
        return time.monotonic() - self.started

    def run(self, command: str, *, seconds: float = 300, check: bool = True) -> str:
        """What a command prints in the guest, as root."""
        done = self._ssh(command, seconds)
        if check and done.returncode:
            raise AssertionError(f"{command}: {done.returncode}: {done.stderr}{done.stdout}")
        return done.stdout.strip()

    def sectors_written(self, block: str) -> int:
        """Sectors of 512 bytes written to a disk or partition since the start."""
        return sectors_written(self.run(f"cat {block_stat(block)}"))

    def unplug_sensor(self) -> None:
        """Pull the serial adapter out of its USB port."""
        with Qmp(self._control) as qmp:
            qmp.execute("device_del", id=ADAPTER)
            qmp.wait_for("DEVICE_DELETED")

    def plug_in_sensor(self) -> None:
        """Plug the serial adapter in again."""
        adapter: dict[str, Any] = {"id": ADAPTER, "chardev": "ser", "always-plugged": True}
        with Qmp(self._control) as qmp:
            qmp.execute("device_add", driver="usb-serial", **adapter)

    def cut_power(self) -> None:
        """What was not handed to the card is gone."""
        self._qemu.kill()
        self._qemu.wait(30)

    def power_off(self) -> None:
        """An orderly end."""
        self._ssh("systemctl poweroff")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._qemu.wait(90)
        self.cut_power()

    @property
    def is_running(self) -> bool:
        return self._qemu.poll() is None

    def _wait(self, is_done: Callable[[], bool], seconds: float, complaint: str) -> None:
        until = time.monotonic() + seconds
        while not is_done():
            ended = self._qemu.poll()
            if ended is not None or time.monotonic() > until:
                state = "runs" if ended is None else f"ended with {ended}"
                raise AssertionError(
                    f"{complaint} after {seconds:.0f} s; QEMU {state}\n{self.text()[-3000:]}"
                )
            time.sleep(0.25)

    def _ssh(self, command: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
        options = [
            "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
            "-o", "LogLevel=ERROR", "-o", "ConnectTimeout=30", "-o", "BatchMode=yes",
        ]  # fmt: skip
        where = ["-i", str(self._key), "-p", str(self._ports[SSH]), "root@127.0.0.1"]
        try:
            return subprocess.run(
                ["ssh", *options, *where, command],
                capture_output=True, text=True, timeout=seconds, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 255, "", f"no answer in {seconds} s")

    def _slot_in_virt(self, folder: Path, slot: str, drive: list[str]) -> list[str]:
        kernel = self.card.extract(slot, "/boot/Image.gz", folder / "Image.gz")
        initrd = self.card.extract(slot, "/boot/initrd.img", folder / "initrd.img")
        part = {"A": 2, "B": 3}[slot]
        root = f"root=PARTUUID=4f6e6365-0{part} ro rootwait rauc.slot={slot}"
        return _virt(kernel, initrd, drive, root)

    def _raspi(self, folder: Path) -> list[str]:
        loader, tree = folder / "u-boot.bin", folder / "board.dtb"
        loader.write_bytes(self.card.get("u-boot.bin"))
        tree.write_bytes(self.card.get("bcm2837-rpi-3-b.dtb"))
        return [
            "-M", "raspi3b", "-m", "1G", "-smp", "4", "-accel", "tcg,thread=single",
            "-kernel", str(loader), "-dtb", str(tree),
            "-drive", f"file={self.card.file},format=raw,if=sd,cache=directsync",
            "-device", "usb-net,netdev=n0",
            "-device", f"usb-serial,id={ADAPTER},chardev=ser,always-plugged=on",
            "-serial", "null", "-serial", "chardev:con",
        ]  # fmt: skip


def _console(log: Path, uart: Path | None) -> str:
    """Describe the UART: to a file, and with `uart` to who talks there before the power is on."""
    if uart is None:
        return f"file,id=con,path={log}"
    uart.unlink(missing_ok=True)
    return f"socket,id=con,path={uart},server=on,wait=on,logfile={log}"


def _drive(disk: Path) -> list[str]:
    """What the guest is asked to write is in the file."""
    return [
        "-drive", f"file={disk},format=raw,if=none,id=sd,cache=directsync",
        "-device", "virtio-blk-pci,drive=sd",
    ]  # fmt: skip


def _logged(disk: Path, log: Path) -> list[str]:
    """A disk that has a cache, so that the guest sends flushes; they and all writes are logged."""
    log.touch()
    return [
        "-blockdev", f"driver=file,node-name=card,filename={disk}",
        "-blockdev", f"driver=file,node-name=log,filename={log}",
        "-blockdev", "driver=blklogwrites,node-name=sd,file=card,log=log,log-sector-size=512",
        "-device", "virtio-blk-pci,drive=sd,write-cache=on",
    ]  # fmt: skip


def _virt(kernel: Path, initrd: Path, drive: list[str], root: str) -> list[str]:
    return [
        "-M", "virt", "-cpu", "cortex-a53", "-smp", "2", "-m", "1G",
        "-accel", "tcg,thread=multi", "-kernel", str(kernel), "-initrd", str(initrd),
        "-append", f"{root} console=ttyAMA0 quiet systemd.show_status=true {EXTRA}",
        *drive, "-device", "virtio-net-pci,netdev=n0",
        "-device", "virtio-rng-pci", "-device", "qemu-xhci",
        "-device", f"usb-serial,id={ADAPTER},chardev=ser,always-plugged=on",
        "-serial", "chardev:con",
    ]  # fmt: skip


@contextlib.contextmanager
def powered(
    card: Card,
    folder: Path,
    kind: str = "virt",
    *,
    key: Path,
    slot: str = "A",
    stick: Path | None = None,
    host_port: int | None = None,
    bare: BareDebian | None = None,
    write_log: Path | None = None,
    uart: bool = False,
) -> Iterator[Machine]:
    """A machine that is off when the context ends; with `bare` another disk is in it, with
    `write_log` what it writes to its card is logged (write_log.py), with `uart` it starts when the
    socket `uart` is connected."""
    machine = Machine(
        card, folder, kind,
        key=key, slot=slot, stick=stick, host_port=host_port, bare=bare, write_log=write_log,
        uart=uart,
    )  # fmt: skip
    try:
        yield machine
    finally:
        machine.cut_power()
