"""The paths of files on the card, and functions to replace files atomically.

This module does not import the gateway, because programs that run at every boot must start quickly.
"""

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

Writable = Callable[[Path], AbstractContextManager[None]]
"""Function that returns a context in which the file system at a path is writable."""


@dataclass(frozen=True, slots=True)
class Places:
    """The paths of files on the card. Tests use other root folders."""

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
        """The file with the record of slots and updates. It survives updates."""
        return self.device / "updates.json"

    @property
    def run(self) -> Path:
        """The runtime directory. All users can read it, and its contents are lost at power-off."""
        return self.root / "run/oncegate-device"

    @property
    def card(self) -> Path:
        """The file with the card's status, the only file that the web page's server may read."""
        return self.run / "card.json"

    @property
    def requests(self) -> Path:
        """The directory to which the broker writes requests. It is created by systemd-tmpfiles."""
        return self.root / "run/oncegate/card-requests"

    @property
    def progress(self) -> Path:
        """The file with the progress of the installation of an update, in percent."""
        return self.run / "update-percent"

    @property
    def checked_request(self) -> Path:
        """The file with a request for an update that the module `update_requests` has checked."""
        return self.run / "asked-update.json"

    @property
    def update_refusal(self) -> Path:
        """The file with the reason why the last request for an update was refused."""
        return self.run / "update-refusal"

    @property
    def network_before(self) -> Path:
        """The directory that stores the former network settings while a change is on trial."""
        return self.device / "network-before"

    @property
    def network_change(self) -> Path:
        """The file with the state of the last network change."""
        return self.device / "network-change.json"

    @property
    def published_name(self) -> Path:
        """The file with the name that systemd-resolved has chosen on the network."""
        return self.run / "published-name"


def write(path: Path, text: str, mode: int) -> None:
    """Replace a file atomically and durably.

    The new file has the permissions `mode` before the text is written.
    """
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
    """Make the creation, renaming and deletion of files in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def remounted(place: Path) -> Iterator[None]:
    """Remount a file system as writable. After the `with` block, make it read-only again."""
    subprocess.run(["mount", "-o", "remount,rw", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
