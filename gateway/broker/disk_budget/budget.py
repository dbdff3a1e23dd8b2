"""Decides, without I/O, which files are removed first when disk space runs short.

Segments are files of the session log. The first files to be removed are local copies of uploaded
segments, then damaged files that are kept for examination, then the journal's spare file. The last
files to be removed are segments of which no other copy exists, and journal files whose state is
also in the database tables. Within each of these kinds, the oldest files are removed first.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

MIB = 1 << 20

# The limits of log, damaged files and reserve are divided by the number of brokers on the file
# system. The minimum of free space is not: it is the same for all.
FREE_SHARE, FREE_BYTES_MAX = 32, 128 * MIB
"""Default of `free_min`: a 32nd of the file system, at most 128 MiB. This is many times the space
that the database needs for the contents of 8 MiB of journal."""

LOG_SHARE = 2
"""Default of `log_max`: half of the file system. The rest is for tables, outbox and journal."""

DAMAGED_SHARE, DAMAGED_BYTES_MAX = 16, 256 * MIB
"""Default of `damaged_max`: a sixteenth of the file system, at most 256 MiB. The latest damaged
files are kept, because people want to examine those."""

LOG_FILES_MAX, LOG_FILES_SHARE = 1_000_000, 2
"""Default of `log_max_files`: two years with one segment per minute, 4 GB of the smallest segments,
but at most half of the file system's inodes."""

DAMAGED_FILES_MAX = 1_000
"""Maximum number of damaged files and folders kept for examination: each is checked every
minute."""

RESERVE_SHARE, RESERVE_BYTES_MAX = 32, 4 * MIB
"""Default of `reserve`: a 32nd of the file system, at most one file of the journal, which is enough
to complete some ten thousand deliveries."""


class Kind(IntEnum):
    """Kinds of files that may be removed. Kinds with lower numbers are removed first."""

    SENT = 0
    """A segment in log/sent, which the upload target has."""
    DAMAGED = 1
    """A damaged file that is kept for people to examine."""
    SPARE = 2
    """A file of allocated blocks that the journal's next file will use."""
    SEGMENT = 3
    """The only copy of part of the session log. It is sealed and not uploaded yet, or it is in the
    default target `uploaded` and waits for the job that converts it to tables."""
    JOURNAL = 4
    """A journal file whose state the database tables contain, but which is not exported yet."""


@dataclass(frozen=True, slots=True)
class Item:
    """A file or folder that may be removed."""

    kind: Kind
    path: str
    """Path relative to the data directory."""
    size_bytes: int
    age: int
    """Number of an event, or a time. Within a kind, the item with the lowest value is removed
    first."""
    first_sequence: int = 0
    last_sequence: int = 0
    """Number of the last event in the item, or 0 if it contains no events."""
    count: int = 1
    """Number of files. An item with more than one file only counts in totals, and is not
    removed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Configured limits in bytes.

    If a limit is None, a default that depends on the size of the file system applies.
    """

    free_min: int | None = None
    log_max: int | None = None
    damaged_max: int | None = None
    reserve: int | None = None
    brokers_count: int = 1
    """Number of brokers that share the disk: the gateway's own broker and those of its tenants."""
    log_max_files: int | None = None
    """Maximum number of segments."""

    def of_disk(self, total_bytes: int, total_files: int = 0) -> "Rules":
        """Return the limits for a file system with this size and number of inodes.

        `total_files` is 0 if the file system does not limit the number of files.
        """
        free_min = _given(self.free_min, min(FREE_BYTES_MAX, total_bytes // FREE_SHARE))
        share_bytes = total_bytes // self.brokers_count
        return Rules(
            free_min=free_min,
            log_max=_given(self.log_max, share_bytes // LOG_SHARE),
            damaged_max=_given(
                self.damaged_max, min(DAMAGED_BYTES_MAX, share_bytes // DAMAGED_SHARE)
            ),
            reserve=_given(self.reserve, min(RESERVE_BYTES_MAX, share_bytes // RESERVE_SHARE)),
            log_files_max=_given(self.log_max_files, self._log_files_max(total_files)),
        )

    def _log_files_max(self, total_files: int) -> int:
        share = total_files // self.brokers_count // LOG_FILES_SHARE
        return min(LOG_FILES_MAX, share) if total_files else LOG_FILES_MAX


def _given(configured: int | None, default: int) -> int:
    return default if configured is None else configured


@dataclass(frozen=True, slots=True)
class Rules:
    """Limits for one file system: sizes in bytes, and numbers of files."""

    free_min: int
    """Minimum free space in bytes. With less, the broker accepts no new data."""
    log_max: int
    damaged_max: int
    reserve: int
    log_files_max: int = LOG_FILES_MAX
    damaged_files_max: int = DAMAGED_FILES_MAX

    @property
    def removal_below_bytes(self) -> int:
        """Free space in bytes below which files are removed. This is twice `free_min`."""
        return 2 * self.free_min

    @property
    def accepted_from_bytes(self) -> int:
        """Free space in bytes at which the broker accepts new data again after the disk was full.

        This is more than `free_min`, so that the broker does not alternate quickly between
        accepting and refusing data.
        """
        return self.free_min + self.free_min // 2

    def is_full(self, free_bytes: int, *, was_full: bool) -> bool:
        """Return True if no new data may be accepted.

        The argument `was_full` is the result of the previous call. A disk that was full counts as
        full until `accepted_from_bytes` bytes are free.
        """
        return free_bytes < (self.accepted_from_bytes if was_full else self.free_min)


_LOG = (Kind.SENT, Kind.SEGMENT)


def is_room_needed(items: Iterable[Item], free_bytes: int, rules: Rules) -> bool:
    """Return True if files must be removed, because space is short or a limit is exceeded."""
    found = list(items)
    return free_bytes < rules.removal_below_bytes or any(
        excess > 0
        for kinds, bytes_max, files_max in _bounds(rules)
        for excess in _excess_of(
            [each for each in found if each.kind in kinds], bytes_max, files_max
        )
    )


def removals_of(items: Iterable[Item], free_bytes: int, rules: Rules) -> list[Item]:
    """Return the files to remove, in order. The newest segment is never removed."""
    in_order = sorted(items, key=lambda item: (item.kind, item.age, item.path))
    removals: dict[Item, None] = {}
    for kinds, bytes_max, files_max in _bounds(rules):
        counted = [item for item in in_order if item.kind in kinds]
        removals |= _beyond(counted, bytes_max, files_max)
    free_bytes += sum(item.size_bytes for item in removals)
    if free_bytes < rules.removal_below_bytes:
        for item in _without_newest_segment(in_order):
            if free_bytes >= rules.removal_below_bytes:
                break
            if item not in removals:
                removals[item] = None
                free_bytes += item.size_bytes
    return [item for item in in_order if item in removals]


def _bounds(rules: Rules) -> list[tuple[tuple[Kind, ...], int, int]]:
    return [
        ((Kind.DAMAGED,), rules.damaged_max, rules.damaged_files_max),
        (_LOG, rules.log_max, rules.log_files_max),
    ]


def _excess_of(counted: list[Item], bytes_max: int, files_max: int) -> tuple[int, int]:
    return (
        sum(item.size_bytes for item in counted) - bytes_max,
        sum(item.count for item in counted) - files_max,
    )


def _beyond(counted: list[Item], bytes_max: int, files_max: int) -> dict[Item, None]:
    """Return the items that must be removed to comply with the limits.

    `counted` contains all items to which the limits apply, in the order of removal.
    """
    excess_bytes, excess_files = _excess_of(counted, bytes_max, files_max)
    removals: dict[Item, None] = {}
    for item in _without_newest_segment(counted):
        if excess_bytes <= 0 and excess_files <= 0:
            break
        removals[item] = None
        excess_bytes -= item.size_bytes
        excess_files -= item.count
    return removals


def _without_newest_segment(in_order: list[Item]) -> list[Item]:
    """Return the items without the newest segment, because the next segment will refer to it."""
    newest = max((item.last_sequence for item in in_order if item.kind == Kind.SEGMENT), default=0)
    return [
        item
        for item in in_order
        if item.kind != Kind.SEGMENT or item.last_sequence < newest or not newest
    ]
