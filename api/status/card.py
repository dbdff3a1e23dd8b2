"""Reads the state of the SD card's system from a file that a process running as root writes.

The file contains the system slots, the last update, and the last provisioning. It also contains the
texts about updates, so that the page and `oncegate-device status` show the same texts. ``read``
returns the contents, or the reason why the file is unreadable. It returns None if this machine does
not run from an SD card. The reader opens only this file and two small files of the kernel. It reads
a limited number of bytes, and does not follow symbolic links.
"""

import os
import stat
import time
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, ValidationError

from api import limits
from api.models.values import Count, Milliseconds, Reported
from api.status.wear import Wear, wear_of
from gateway.process.control.received_json import value_of_json

Line = Annotated[str, Field(max_length=limits.SENTENCE_CHARACTERS_MAX)]


class Slot(Reported):
    """One of the two system slots on the SD card."""

    slot: Literal["A", "B"]
    version: Line | None
    """Version of the system in the slot; null if none is known."""
    store_format: Count | None
    """Format of the gateway's data in this version; a version reads all formats up to its own."""


class Update(Reported):
    """The last update of the system on the SD card."""

    state: Literal[
        "installing", "failed", "installed", "trial", "kept", "unhealthy", "returned", "interrupted"
    ]
    slot: Literal["A", "B"]
    version: Line | None
    time_ms: Milliseconds
    """Time at which the update reached this state."""
    clock: Literal["synchronised", "unsynchronised"]
    """Quality of `time_ms`: `synchronised` or `unsynchronised`."""
    ends_rollback: bool
    """True if the previous version can no longer read the data."""
    sentence: Line
    """Description of the update's state."""
    advice: Line
    """The recommended next step; may be empty."""
    percent: Annotated[int, Field(ge=0, le=100)] | None = None
    """How much is installed, while an update is installed; null otherwise."""


class Provisioning(Reported):
    """Result of reading gateway.toml from the boot partition."""

    taken: bool
    lines: Annotated[list[Line], Field(max_length=limits.PROVISIONING_LINES_MAX)]
    """The settings that were applied, or the lines that are wrong."""


class CardFacts(Reported):
    """The report about the SD card. A root process writes it at startup and after each change."""

    written_ms: Milliseconds
    booted: Slot
    other: Slot
    update: Update | None
    refusal: Line = ""
    """Reason why the last request for an update was refused; empty if it was not."""
    no_way_back: Line = ""
    """Reason why the version in the other slot cannot be started; empty if it can."""
    note: Line
    """Problem with the record of updates; empty if there is none."""
    provisioning: Provisioning | None
    """Result of the last gateway.toml; null if none has been read yet."""
    device: Annotated[str, Field(pattern=r"^[a-z0-9]{1,32}$")] | None


class CardReport(Reported):
    """The SD card's report and the card's wear, as shown on the status page."""

    problem: str | None
    """The reason why the report cannot be read; null if it can."""
    facts: CardFacts | None
    wear: Wear | None
    """Wear of the card; null if the kernel does not count the bytes written to it."""


class CardReader:
    """Reader of the card's files. It reads the files again for each request.

    This is cheap, because the files have only a few kilobytes and the kernel keeps them in memory.
    """

    def __init__(self, file: Path, block_devices: Path) -> None:
        self._file: Final = file
        self._block_devices: Final = block_devices

    def read(self) -> CardReport | None:
        """Read the card's report. Return None if this machine does not run from an SD card."""
        try:
            facts = CardFacts.model_validate(value_of_json(bytes_of(self._file)))
        except FileNotFoundError:
            return None
        except ValidationError as error:
            return _unread(f"{_place_of(error)} is not what this page expects")
        except OSError as error:
            return _unread(str(error.strerror))
        except (ValueError, RecursionError):
            return _unread("it is not JSON, or too long")
        return CardReport(problem=None, facts=facts, wear=self._wear_of(facts.device))

    def _wear_of(self, device: str | None) -> Wear | None:
        if device is None:
            return None
        try:
            counters = bytes_of(self._block_devices / device / "stat").split()
            sectors = int(bytes_of(self._block_devices / device / "size"))
            return wear_of(
                sectors_written=int(counters[6]),
                sectors=sectors,
                up_seconds=time.clock_gettime(time.CLOCK_BOOTTIME),
            )
        except (OSError, ValueError, IndexError):
            return None


def _unread(why: str) -> CardReport:
    return CardReport(
        problem=f"The card's own report cannot be read: {why}. "
        "`systemctl restart device-mark-good` writes it again",
        facts=None,
        wear=None,
    )


def bytes_of(file: Path) -> bytes:
    """Read a file of at most CARD_BYTES_MAX bytes.

    Raises:
        OSError: the file is unreadable, or not a regular file.
        ValueError: the file is too long.
    """
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is not a file")
        content = opened.read(limits.CARD_BYTES_MAX + 1)
    if len(content) > limits.CARD_BYTES_MAX:
        raise ValueError("too long")
    return content


def _place_of(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return ".".join(str(part) for part in fault["loc"])[: limits.SHOWN_CHARACTERS_MAX] or "it"
