"""A board in QEMU with a card in it.

`virt` is a board that does not exist in hardware; it starts the slot's own kernel directly and is
faster. `raspi3b` boots through U-Boot like a Pi. Both have a USB serial adapter whose other end is
a Unix socket on the host, and both forward three ports of the guest to loopback. The guest's
network is restricted to QEMU, and to one loopback port of the host if a test requests it.
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
"""The address at which the guest reaches the host's port `host_port`."""
BOOT_SECONDS_MAX = 900.0
"""Longest boot. An idle machine takes 75 s, and a busy one has taken ten times that."""
ADAPTER = "adapter"
"""The USB serial adapter's id in QEMU."""
EXTRA = "oncegate.watchdog=off"
"""Kernel argument: opening the watchdog would reset the emulated Pi."""
EXTRA_ON_PI = f"{EXTRA} oncegate.healthy_within=300"
"""Kernel arguments of the Pi: an unhealthy slot is given up after five minutes instead of ten."""

_COLOURS = re.compile("\x1b\\[[0-9;]*m")


def block_stat(block: str) -> str:
    """Return the path of the kernel's counters for a disk or partition (its
    Documentation/block/stat.rst)."""
    return f"/sys/class/block/{block}/stat"


def sectors_written(line: str) -> int:
    """Return the number of written sectors of 512 bytes, from the line in a `block_stat` file."""
    return int(line.split()[6])


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class Machine:
    """One power-on of a board. The constructor starts it; `cut_power` or `power_off` ends it."""

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
        """Return the loopback port of the host that is forwarded to a port of the guest."""
        return self._ports[guest]

    def text(self) -> str:
        """Return the console output so far, without colour codes."""
        with contextlib.suppress(FileNotFoundError):
            return _COLOURS.sub("", self.console.read_text(errors="replace"))
        return ""

    def wait_for_console(self, wanted: str, seconds: float = BOOT_SECONDS_MAX) -> float:
        """Wait until the console shows `wanted`. Return the seconds since power-on."""
        self._wait(lambda: wanted in self.text(), seconds, f"the console does not show {wanted!r}")
        return time.monotonic() - self.started

    def wait_until_up(self) -> float:
        """Wait until the guest executes commands. Return the seconds since power-on."""
        # On raspi3b, connections during the boot would block the emulated network.
        if self.kind == "raspi3b":
            self.wait_for_console("login:")
        is_up = lambda: self._ssh("true").returncode == 0  # noqa: E731
        self._wait(is_up, BOOT_SECONDS_MAX, "sshd does not answer")
        return time.monotonic() - self.started

    def wait_until_healthy(self) -> float:
        """Wait until the gateway is healthy. Return the seconds since power-on."""
        self.wait_until_up()
        healthy = lambda: self._ssh("oncegate-device healthy", 180).returncode == 0  # noqa: E731
        self._wait(healthy, 600, "the gateway is not healthy")
        return time.monotonic() - self.started

    def run(self, command: str, *, seconds: float = 300, check: bool = True) -> str:
        """Run a command in the guest as root, and return its output."""
        done = self._ssh(command, seconds)
        if check and done.returncode:
            raise AssertionError(f"{command}: {done.returncode}: {done.stderr}{done.stdout}")
        return done.stdout.strip()

    def sectors_written(self, block: str) -> int:
        """Return the sectors of 512 bytes written to a disk or partition since the start."""
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
        """Kill QEMU: data that the guest had not yet written to the card is lost."""
        self._qemu.kill()
        self._qemu.wait(30)

    def power_off(self) -> None:
        """Shut down the guest, and kill QEMU if that takes longer than 90 s."""
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
    """Return QEMU's option for the console: a log file, or with `uart` a socket whose client must
    be connected before power-on."""
    if uart is None:
        return f"file,id=con,path={log}"
    uart.unlink(missing_ok=True)
    return f"socket,id=con,path={uart},server=on,wait=on,logfile={log}"


def _drive(disk: Path) -> list[str]:
    """Return QEMU's options for a disk without a cache: every write goes directly to the file."""
    return [
        "-drive", f"file={disk},format=raw,if=none,id=sd,cache=directsync",
        "-device", "virtio-blk-pci,drive=sd",
    ]  # fmt: skip


def _logged(disk: Path, log: Path) -> list[str]:
    """Return QEMU's options for a disk with a write cache, so that the guest sends flushes.

    All writes and flushes are logged.
    """
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
    """Run a machine until the block ends, and cut its power then.

    With `bare` it boots that disk instead of the card. With `write_log` its writes to the card are
    logged to this file (write_log.py). With `uart` it waits until a client is connected to the
    socket `uart`.
    """
    machine = Machine(
        card, folder, kind,
        key=key, slot=slot, stick=stick, host_port=host_port, bare=bare, write_log=write_log,
        uart=uart,
    )  # fmt: skip
    try:
        yield machine
    finally:
        machine.cut_power()
