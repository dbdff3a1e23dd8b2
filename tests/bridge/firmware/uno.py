"""The example board, compiled by avr-gcc, run by simavr, and killed as by a power cut."""

import os
import subprocess
import tty
from pathlib import Path

from tests.bridge.firmware.compiled import FIRMWARE, HERE

EXAMPLE = FIRMWARE / "examples" / "uno"
STOP_SECONDS_MAX = 15.0


def compile_uno(directory: Path, interval_ms: int) -> tuple[Path, str]:
    """Compile the program for the Uno.

    Return its path and what the example's Makefile printed: the size.
    """
    command = ["make", "-C", str(EXAMPLE), f"BUILD={directory}", f"INTERVAL_MS={interval_ms}"]
    # `make test` would pass its own make variables to the make started here.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=clean)
    return directory / "uno.elf", run.stdout


def compile_simulator(directory: Path) -> Path:
    """Compile `simulated_uno.c` and return the program's path."""
    program = directory / "simulated_uno"
    source = HERE / "simulated_uno.c"
    options = ["-std=gnu99", "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *options, str(source), "-o", str(program), "-lsimavr"], check=True)
    return program


class UnoProcess:
    """The board at a terminal that stays when the board dies, like a USB converter with its own
    power.

    `sent` and `received` contain every byte of all the board's lives; `lives` has the position in
    `sent` at which each life began. `lamp` contains a 1 for each time that the board's lamp was lit
    and a 0 for each time that it went out.
    """

    def __init__(self, simulator: Path, firmware: Path, directory: Path) -> None:
        self.link = directory / "uno"
        self.sent = directory / "uno.sent"
        self.received = directory / "uno.received"
        self.lamp = directory / "uno.lamp"
        self.lives: list[int] = []
        self._command = [str(simulator), str(firmware)]
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        self.sent.touch()
        self.received.touch()
        self.lamp.touch()
        self.link.symlink_to(os.ttyname(self._slave))

    def start(self) -> None:
        """Switch the board on."""
        assert not self.is_running, "the board runs already"
        self.lives.append(self.sent.stat().st_size)
        files = [self._directory / "uno.eeprom", self.sent, self.received, self.lamp]
        arguments = [str(self._master), *map(str, files)]
        self._process = subprocess.Popen([*self._command, *arguments], pass_fds=[self._master])

    @property
    def is_running(self) -> bool:
        """Return True if the board is switched on."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """Cut the board's power: kill the simulator with SIGKILL."""
        if self._process is not None:
            assert self._process.poll() is None, "the board has stopped by itself"
            self._process.kill()
            self._process.wait(STOP_SECONDS_MAX)
            self._process = None

    def close(self) -> None:
        """Switch the board off and pull its cable."""
        if self.is_running:
            self.kill()
        os.close(self._master)
        os.close(self._slave)
