"""The example board: compiled by avr-gcc, run by simavr, killed as a power cut does."""

import os
import subprocess
import tty
from pathlib import Path

from tests.bridge.firmware.compiled import FIRMWARE, HERE

EXAMPLE = FIRMWARE / "examples" / "uno"
STOP_SECONDS_MAX = 15.0


def compile_uno(directory: Path, interval_ms: int) -> tuple[Path, str]:
    """The program for the Uno, and what the example's Makefile printed: its size."""
    command = ["make", "-C", str(EXAMPLE), f"BUILD={directory}", f"INTERVAL_MS={interval_ms}"]
    # `make test` gives its own make variables to its children.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=clean)
    return directory / "uno.elf", run.stdout


def compile_simulator(directory: Path) -> Path:
    """`simulated_uno.c` as a program."""
    program = directory / "simulated_uno"
    source = HERE / "simulated_uno.c"
    options = ["-std=gnu99", "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *options, str(source), "-o", str(program), "-lsimavr"], check=True)
    return program


class UnoProcess:
    """The board on a terminal that stays when the board dies: a converter with a power of its own.

    `sent` and `received` have each byte of all its lives; `lives` is where each began in `sent`.
    `lamp` has a 1 for each time that its lamp was lit, and a 0 for each time that it went out.
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
        """Switch it on."""
        assert not self.is_running, "the board runs already"
        self.lives.append(self.sent.stat().st_size)
        files = [self._directory / "uno.eeprom", self.sent, self.received, self.lamp]
        arguments = [str(self._master), *map(str, files)]
        self._process = subprocess.Popen([*self._command, *arguments], pass_fds=[self._master])

    @property
    def is_running(self) -> bool:
        """Whether it is switched on."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """Cut its power: SIGKILL of the simulator."""
        if self._process is not None:
            assert self._process.poll() is None, "the board has stopped by itself"
            self._process.kill()
            self._process.wait(STOP_SECONDS_MAX)
            self._process = None

    def close(self) -> None:
        """Switch it off and pull its cable."""
        if self.is_running:
            self.kill()
        os.close(self._master)
        os.close(self._slave)
