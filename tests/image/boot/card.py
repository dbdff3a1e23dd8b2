"""An SD card as a file: a copy of the built image.

The host reads and writes the boot partition as a card reader would.
"""

import subprocess
from pathlib import Path

MIB = 1 << 20
BOOT_OFFSET = 4 * MIB
SLOT_OFFSETS = {"A": 132 * MIB, "B": 832 * MIB}
DATA_OFFSET = 1532 * MIB
"""Offset in bytes. image/genimage.cfg defines the partitions, and tests/image/test_layout.py
compares the offsets with it."""
CARD_BYTES = 4 << 30
"""Size of the card in bytes, larger than the image so that the data partition grows.

QEMU requires a power of two.
"""


class Card:
    """A card for one test. The file is sparse and takes a few hundred megabytes on disk."""

    def __init__(self, image: Path, file: Path, size_bytes: int = CARD_BYTES) -> None:
        self.file = file
        subprocess.run(["cp", "--sparse=always", "--reflink=auto", image, file], check=True)
        with file.open("r+b") as opened:
            opened.truncate(size_bytes)

    def put(self, name: str, content: str | bytes) -> None:
        """Write a file to the boot partition."""
        data = content.encode() if isinstance(content, str) else content
        self._mtools("mcopy", "-o", "-", f"::{name}", data=data)

    def get(self, name: str) -> bytes:
        """Return the contents of a file on the boot partition.

        Raises FileNotFoundError if it does not exist.
        """
        done = self._mtools("mcopy", f"::{name}", "-", check=False)
        if done.returncode:
            raise FileNotFoundError(name)
        return done.stdout

    def remove(self, name: str) -> None:
        """Delete a file from the boot partition."""
        self._mtools("mdel", f"::{name}")

    def names(self) -> list[str]:
        """Return the names of the files in the top directory of the boot partition."""
        listing = self._mtools("mdir", "-b", "::").stdout.decode()
        return sorted(line.removeprefix("::/") for line in listing.splitlines())

    def set_environment(self, variables: dict[str, str]) -> None:
        """Change variables of U-Boot's environment."""
        raw = self.get("uboot.env")
        lines = raw[4:].split(b"\0\0")[0].decode().split("\0")
        values = dict(line.split("=", 1) for line in lines) | variables
        text = "".join(f"{name}={value}\n" for name, value in values.items())
        done = subprocess.run(
            ["mkenvimage", "-s", str(len(raw)), "-o", "-", "-"],
            input=text.encode(), capture_output=True, check=True,
        )  # fmt: skip
        self.put("uboot.env", done.stdout)

    def environment(self) -> dict[str, str]:
        """Return the variables of U-Boot's environment."""
        lines = self.get("uboot.env")[4:].split(b"\0\0")[0].decode().split("\0")
        return dict(line.split("=", 1) for line in lines)

    def extract(self, slot: str, path: str, target: Path) -> Path:
        """Copy a file from a slot to `target`, and return `target`."""
        place = f"{self.file}?offset={SLOT_OFFSETS[slot]}"
        subprocess.run(
            ["debugfs", "-R", f"dump {path} {target}", place], check=True, capture_output=True
        )
        return target

    def _mtools(
        self, *command: str, data: bytes = b"", check: bool = True
    ) -> subprocess.CompletedProcess[bytes]:
        verb, *arguments = command
        return subprocess.run(
            [verb, "-i", f"{self.file}@@{BOOT_OFFSET}", *arguments],
            input=data, capture_output=True, check=check,
        )  # fmt: skip
