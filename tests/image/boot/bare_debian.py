"""The Debian that the image is based on, without any of our programs, on a separate disk.

No gateway can boot faster than this Debian in the same emulator.
"""

import subprocess
from pathlib import Path

BASE_FILE = Path(__file__).parents[3] / "image" / "base-file"
DISK_BYTES = 2 << 30


class BareDebian:
    """A bare Debian as a writable root on `disk`, with the kernel and initial file system that boot
    it."""

    def __init__(self, folder: Path) -> None:
        root = folder / "root"
        root.mkdir()
        # As root, so that files keep their owners.
        subprocess.run(["tar", "-C", root, "--numeric-owner", "-xf", _base()], check=True)
        self.kernel = next((root / "boot").glob("vmlinuz-*")).rename(folder / "bare-kernel")
        self.initrd = next((root / "boot").glob("initrd.img-*")).rename(folder / "bare-initrd")
        (root / "etc" / "fstab").write_text("/dev/vda / ext4 defaults 0 1\n")
        self.disk = folder / "bare.img"
        with self.disk.open("wb") as file:
            file.truncate(DISK_BYTES)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-d", root, self.disk], check=True)
        subprocess.run(["rm", "-rf", root], check=True)


def _base() -> Path:
    """Return the archive that image/build-base has stored."""
    named = subprocess.run([BASE_FILE], capture_output=True, text=True, check=True)
    return Path(named.stdout.strip())
