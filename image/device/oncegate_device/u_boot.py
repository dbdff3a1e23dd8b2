"""Determines from U-Boot's environment whether a slot is on trial, and backs the environment up."""

import os
import subprocess
import zlib
from pathlib import Path

from oncegate_device.places import sync_folder
from oncegate_device.start import KEPT_TRIES


def is_on_trial(slot: str) -> bool:
    """Return True if a slot is on trial, which means that U-Boot counts its boot attempts.

    Return False if the slot is not on trial, or if U-Boot's environment cannot be read.
    """
    name = f"BOOT_{slot}_LEFT"
    asked = subprocess.run(["fw_printenv", "-n", name], capture_output=True, text=True, check=False)
    left = asked.stdout.strip()
    return asked.returncode == 0 and left.isdecimal() and left != KEPT_TRIES


def secure(boot: Path) -> None:
    """Back up U-Boot's environment, in case a power cut during an update damages it.

    If the environment is already damaged, restore it from the backup. Raises OSError if both are
    damaged.
    """
    environment, copy = boot / "uboot.env", boot / "uboot.bak"
    whole = environment.read_bytes()
    if not _is_whole(whole):
        whole = copy.read_bytes()
        if not _is_whole(whole):
            raise OSError("U-Boot's environment is damaged, and so is its copy")
        _replace(environment, whole)
    else:
        _replace(copy, whole)


def _is_whole(environment: bytes) -> bool:
    """Return True if U-Boot's environment is undamaged.

    The first four bytes are the CRC-32 of the other bytes.
    """
    return zlib.crc32(environment[4:]) == int.from_bytes(environment[:4], "little")


def _replace(path: Path, content: bytes) -> None:
    partial = path.with_suffix(".new")
    with partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(path)
    sync_folder(path.parent)
