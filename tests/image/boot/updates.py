"""Bundles for tests, made of the image's own slot: whole, or with something wrong in it."""

import shutil
import subprocess
from pathlib import Path

IMAGE = Path(__file__).resolve().parents[3] / "image"


def stick_with_bundle(image: Path, folder: Path, version: str, removed: tuple[str, ...]) -> Path:
    """A USB stick (ext4, no partitions) with `update.raucb`; its slot lacks the files `removed`."""
    slot = folder / "slot.ext4"
    made = image.with_name(image.name.removesuffix(".img") + ".slot.ext4")
    subprocess.run(["cp", "--sparse=always", made, slot], check=True)
    commands = "".join(f"rm {path}\n" for path in removed)
    commands += f"write {marker_of(folder, version)} /etc/oncegate-test-version\n"
    subprocess.run(
        ["debugfs", "-w", "-f", "-", slot], input=commands.encode(), capture_output=True, check=True
    )
    contents = folder / "stick"
    contents.mkdir()
    subprocess.run([IMAGE / "bundle", slot, version, contents / "update.raucb"], check=True)
    slot.unlink()
    stick = folder / "stick.img"
    with stick.open("wb") as file:
        file.truncate(512 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-d", contents, stick], check=True)
    shutil.rmtree(contents)
    return stick


def marker_of(folder: Path, version: str) -> Path:
    marker = folder / "version"
    marker.write_text(f"{version}\n")
    return marker
