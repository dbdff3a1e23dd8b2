"""Paths on the card, and atomic replacement of files.

Imports nothing of the gateway, because programs that run at every start must be fast.
"""

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

Writable = Callable[[Path], AbstractContextManager[None]]
"""Makes a file system writable for as long as the context lasts."""


@dataclass(frozen=True, slots=True)
class Places:
    """Paths on the card. Tests use others."""

    boot: Path = Path("/boot/firmware")
    device: Path = Path("/var/lib/device")
    root: Path = Path("/")

    @property
    def file(self) -> Path:
        return self.boot / "gateway.toml"

    @property
    def configuration(self) -> Path:
        """The configuration directory. `/etc/oncegate` is a link to it."""
        return self.device / "oncegate"

    @property
    def updates(self) -> Path:
        """The record of slots and updates, which survives updates."""
        return self.device / "updates.json"

    @property
    def run(self) -> Path:
        """Runtime directory, lost at power-off and readable for everybody."""
        return self.root / "run/oncegate-device"

    @property
    def card(self) -> Path:
        """The file of facts about the card: the only one that the page may read."""
        return self.run / "card.json"

    @property
    def published_name(self) -> Path:
        """The host name on the network, if another machine has this card's own name."""
        return self.run / "published-name"


def write(path: Path, text: str, mode: int) -> None:
    """Replace a file atomically and durably. It has the mode `mode` from the start."""
    partial = path.with_name(f"{path.name}.partial")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), mode)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def remounted(place: Path) -> Iterator[None]:
    """Mount the boot partition writable within this context. Otherwise it is read-only."""
    subprocess.run(["mount", "-o", "remount,rw", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
