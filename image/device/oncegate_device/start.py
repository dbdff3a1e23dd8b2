"""Facts about the running system: slot, version and clock."""

import re
import time
from dataclasses import dataclass

from oncegate_device.places import Places

RELEASE = "usr/lib/oncegate-release"
RELEASE_BYTES_MAX = 4096
"""Bytes: two short lines, written by image/hooks/install."""
VERSION = r"[0-9A-Za-z][0-9A-Za-z.+:~-]{0,63}"
"""The characters of a Debian version, and no longer than a line of the page."""
KEPT_TRIES = "9"
"""Value of U-Boot's count of tries for a slot that was kept: image/boot/boot.cmd."""
STORE_FORMAT = r"[1-9][0-9]{0,5}"


@dataclass(frozen=True, slots=True)
class Release:
    """A version of the gateway, and the format of the data that it writes."""

    version: str
    store_format: int


@dataclass(frozen=True, slots=True)
class Moment:
    """The time of a record, in milliseconds since 1970, and the quality of the clock."""

    time_ms: int
    clock: str
    boot_id: str
    """The kernel's id of this start: records written in it do not judge it."""


@dataclass(frozen=True, slots=True)
class Start:
    """The running system."""

    slot: str
    release: Release | None
    """None: the slot does not name it."""

    @property
    def other(self) -> str:
        return "B" if self.slot == "A" else "A"


class NotACardError(Exception):
    """This machine was not started from a slot of the card's image."""


def start_of(places: Places) -> Start:
    """Find out which slot was started.

    Raises:
        NotACardError: the kernel's command line names no slot.
    """
    arguments = (places.root / "proc/cmdline").read_text(errors="replace").split()
    slots = [each.removeprefix("rauc.slot=") for each in arguments if each.startswith("rauc.slot=")]
    if not slots or slots[-1] not in ("A", "B"):
        raise NotACardError("the kernel's command line has neither rauc.slot=A nor rauc.slot=B")
    return Start(slots[-1], _release_of(places))


def moment_of(places: Places) -> Moment:
    """Return the time, and whether the clock is synchronised."""
    boot_id = (places.root / "proc/sys/kernel/random/boot_id").read_text().strip()
    # systemd-timesyncd makes this file at each start in which it has reached a time server.
    synchronised = (places.root / "run/systemd/timesync/synchronized").exists()
    clock = "synchronised" if synchronised else "unsynchronised"
    return Moment(time.time_ns() // 1_000_000, clock, boot_id)


def release_in(text: str) -> Release | None:
    """Return the release in the file's text; None if it contains none."""
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
