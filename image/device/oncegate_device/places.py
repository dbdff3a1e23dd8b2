"""Where things lie on the card, and how a file there is replaced. Imports nothing of the gateway:
what runs at every start has to be quick."""

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
    """Where things lie on the card; elsewhere in tests."""

    boot: Path = Path("/boot/firmware")
    device: Path = Path("/var/lib/device")
    root: Path = Path("/")

    @property
    def file(self) -> Path:
        return self.boot / "gateway.toml"

    @property
    def configuration(self) -> Path:
        """`/etc/oncegate` is a link to it."""
        return self.device / "oncegate"

    @property
    def updates(self) -> Path:
        """What is known of slots and updates; survives them."""
        return self.device / "updates.json"

    @property
    def run(self) -> Path:
        """Gone with the power; everyone may read it."""
        return self.root / "run/oncegate-device"

    @property
    def card(self) -> Path:
        """The card's facts, for the page, which may read nothing else."""
        return self.run / "card.json"

    @property
    def published_name(self) -> Path:
        """The host name on the network, where another machine had this card's own name."""
        return self.run / "published-name"


def write(path: Path, text: str, mode: int) -> None:
    """Replace the file whole, durably; it never has another mode than `mode`."""
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
    """Mount the boot partition writable for the block; it is read-only otherwise."""
    subprocess.run(["mount", "-o", "remount,rw", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
