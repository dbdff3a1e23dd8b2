"""Detects the slot and the version of the running system, and the state of its clock."""

import re
import time
from dataclasses import dataclass

from oncegate_device.places import Places

RELEASE = "usr/lib/oncegate-release"
RELEASE_BYTES_MAX = 4096
"""Bytes read from the release file, at most. image/hooks/install writes two short lines."""
VERSION = r"[0-9A-Za-z][0-9A-Za-z.+:~-]{0,63}"
"""Regular expression for a Debian version that is short enough for a line on the web page."""
KEPT_TRIES = "9"
"""U-Boot's number of remaining tries for a slot that is not on trial (image/boot/boot.cmd)."""
STORE_FORMAT = r"[1-9][0-9]{0,5}"


@dataclass(frozen=True, slots=True)
class Release:
    """A version of the gateway, and the number of the data format that it writes."""

    version: str
    store_format: int


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time in milliseconds since 1970, and the state of the clock at that time.

    `clock` is `synchronised` or `unsynchronised`.
    """

    time_ms: int
    clock: str
    boot_id: str
    """The kernel's id of this boot. It shows whether a record was written since this boot."""


@dataclass(frozen=True, slots=True)
class Start:
    """The running system: its slot, `A` or `B`, and its release."""

    slot: str
    release: Release | None
    """The release, or None if the release file is missing or invalid."""

    @property
    def other(self) -> str:
        return "B" if self.slot == "A" else "A"


class NotACardError(Exception):
    """Raised if this machine was not booted from a slot of the card's image."""


def start_of(places: Places) -> Start:
    """Return the slot that was booted, and its release.

    Raises:
        NotACardError: if the kernel's command line does not name a slot.
    """
    arguments = (places.root / "proc/cmdline").read_text(errors="replace").split()
    slots = [each.removeprefix("rauc.slot=") for each in arguments if each.startswith("rauc.slot=")]
    if not slots or slots[-1] not in ("A", "B"):
        raise NotACardError("the kernel's command line has neither rauc.slot=A nor rauc.slot=B")
    return Start(slots[-1], _release_of(places))


def moment_of(places: Places) -> Moment:
    """Return the current time, the state of the clock, and the kernel's id of this boot."""
    boot_id = (places.root / "proc/sys/kernel/random/boot_id").read_text().strip()
    # systemd-timesyncd creates this file when it has reached a time server since the boot.
    synchronised = (places.root / "run/systemd/timesync/synchronized").exists()
    clock = "synchronised" if synchronised else "unsynchronised"
    return Moment(time.time_ns() // 1_000_000, clock, boot_id)


def release_in(text: str) -> Release | None:
    """Parse the text of a release file. Return None if it is not valid."""
    values = dict(line.partition("=")[::2] for line in text.splitlines())
    version, store_format = values.get("VERSION", ""), values.get("STORE_FORMAT", "")
    if not re.fullmatch(VERSION, version) or not re.fullmatch(STORE_FORMAT, store_format):
        return None
    return Release(version, int(store_format))


def _release_of(places: Places) -> Release | None:
    try:
        with (places.root / RELEASE).open(encoding="utf-8", errors="replace") as file:
            return release_in(file.read(RELEASE_BYTES_MAX))
    except OSError:
        return None
