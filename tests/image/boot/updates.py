"""Update bundles for tests, built from the image's own slot, either complete or with a defect."""

import re
import shutil
import subprocess
from pathlib import Path

from tests.image.boot.machine import Machine

STICK = "/run/stick/update.raucb"
MOUNT = "mkdir -p /run/stick && mount -o ro /dev/sda /run/stick"
UPDATE = f"oncegate update {STICK}"
RELEASE = "/usr/lib/oncegate-release"
IMAGE = Path(__file__).resolve().parents[3] / "image"


def bundle_of(image: Path, folder: Path, version: str, removed: tuple[str, ...] = ()) -> Path:
    """Build `update.raucb` in a separate folder, from a slot without the files `removed`."""
    slot = folder / "slot.ext4"
    made = image.with_name(image.name.removesuffix(".img") + ".slot.ext4")
    subprocess.run(["cp", "--sparse=always", made, slot], check=True)
    commands = "".join(f"rm {path}\n" for path in removed)
    commands += f"rm {RELEASE}\nwrite {release_of(folder, made, version)} {RELEASE}\n"
    subprocess.run(
        ["debugfs", "-w", "-f", "-", slot], input=commands.encode(), capture_output=True, check=True
    )
    bundle = folder / "bundle" / "update.raucb"
    bundle.parent.mkdir()
    subprocess.run([IMAGE / "bundle", slot, bundle], check=True)
    slot.unlink()
    return bundle


def stick_with(bundle: Path) -> Path:
    """Return a USB stick (ext4, no partitions) that contains the bundle, and delete the bundle's
    folder."""
    stick = bundle.parent.with_name("stick.img")
    with stick.open("wb") as file:
        file.truncate(512 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-d", bundle.parent, stick], check=True)
    shutil.rmtree(bundle.parent)
    return stick


def release_of(folder: Path, slot: Path, version: str) -> Path:
    """Return a copy of the slot's release file with another version."""
    said = subprocess.run(
        ["debugfs", "-R", f"cat {RELEASE}", slot], capture_output=True, text=True, check=True
    ).stdout
    release = folder / "release"
    release.write_text(re.sub("(?m)^VERSION=.*$", f"VERSION={version}", said))
    return release


def install(machine: Machine, source: str = STICK) -> str:
    """Install a bundle, by default from the mounted stick, in slot B.

    Return the output of the command.
    """
    said = machine.run(f"oncegate update {source}", seconds=900)
    assert "is installed in slot B and waits for a restart" in said
    return said
