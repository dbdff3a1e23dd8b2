"""Monitors the free disk space once a second, and removes old files when space is short.

If the free space is below a minimum, the broker accepts no new data
(`core/rules/publish/full_disk.py`). To avoid this, old files are removed earlier.
`disk_budget/budget.py` decides which files are removed. A separate thread lists the folders and
removes the files, because SD cards are slow.
"""

import asyncio
import logging
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from gateway.broker.core.records.kinds import Observation
from gateway.broker.disk_budget.budget import Item, Kind, Limits, Rules, is_room_needed, removals_of
from gateway.broker.disk_budget.inventory import Disk, Inventory, disk_of, remove
from gateway.broker.server.event_loop.event_loop import EventLoop
from gateway.process.files.disk_errors import line_of

logger = logging.getLogger(__name__)

CHECK_SECONDS = 60.0
"""Interval between checks of file sizes while there is enough space, in seconds. If free space is
below `removal_below_bytes`, the check runs every second."""

REMOVALS_MAX = 100
"""Maximum number of files removed per round: an SD card takes some milliseconds to free the blocks
of one file."""

RESERVE_RETRY_SECONDS = 5.0
"""Time until the next attempt after the reserve file could not be created."""


@dataclass
class Round:
    """The files to remove, as determined by one check of the folders."""

    removals: list[Item]


class Housekeeping:
    """Monitor of a running broker's disk space. Removes files to stay within the limits."""

    def __init__(self, event_loop: EventLoop, data_dir: Path, limits: Limits) -> None:
        self.limits = limits
        self.disk = Disk(0, 0, 0)
        """Size and free space at the latest check. All values are 0 before the first check."""
        self.full_since_ms: int | None = None
        self.removed: Counter[str] = Counter()
        """The number of files removed for lack of space, by kind."""
        self._event_loop = event_loop
        self._data_dir = data_dir
        self._inventory = Inventory(data_dir)
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "housekeeping")
        self._working: asyncio.Future[Any] | None = None
        self._next_check = 0.0
        self._next_reserve = 0.0
        self._waits = False
        """True if there was no space for a batch of records at the last check."""

    @property
    def rules(self) -> Rules:
        """The space limits for the file system of the data directory."""
        return self.limits.of_disk(self.disk.total_bytes, self.disk.total_files)

    def prepare(self) -> None:
        """Create the reserve file, which the journal uses when the disk is full.

        Called before clients are accepted. The call blocks while the file is written. If the disk
        does not have enough space now, the file is created later.
        """
        try:
            self.disk = disk_of(self._data_dir)
            rules = self.rules
            if rules.reserve and self.disk.free_bytes >= rules.reserve:
                self._event_loop.store.journal.spare_files.create_reserve(rules.reserve)
        except OSError as error:
            logger.warning("the reserve for a full disk could not be created: %s", line_of(error))

    def tick(self) -> None:
        """Check the free space. If necessary, start removing files or creating the reserve file.

        Called once a second.
        """
        try:
            self.disk = disk_of(self._data_dir)
        except OSError as error:
            logger.warning(
                "the file system of %s cannot be checked: %s", self._data_dir, line_of(error)
            )
            return
        if not self.disk.total_bytes:
            return
        rules, free_bytes = self.rules, self.disk.free_bytes
        waits = self._event_loop.committer.writer.waits_for_room
        self._note_wait(waits)
        was_full = self._event_loop.limits.disk_full
        self._set_full(waits or rules.is_full(free_bytes, was_full=was_full))
        if self._working is not None:
            return
        now = self._loop.time()
        if waits or free_bytes < rules.removal_below_bytes or now >= self._next_check:
            self._next_check = now + CHECK_SECONDS
            self._begin_round(rules)
        elif self._wants_reserve(rules, now):
            self._begin(self._create_reserve)

    def _set_full(self, full: bool) -> None:
        if full == (self.full_since_ms is not None):
            return
        if full:
            self.full_since_ms = time.time_ns() // 1_000_000
            logger.error(
                "the disk is full: %d bytes are free, the minimum is %d ([disk] free_min). No new "
                "messages are accepted; %s. Free space, or use a larger disk",
                self.disk.free_bytes,
                self.rules.free_min,
                self._what_continues(),
            )
        else:
            self.full_since_ms = None
            logger.info("the disk has room again: %d bytes are free", self.disk.free_bytes)
        self._event_loop.set_disk_full(full)

    def _what_continues(self) -> str:
        if not self.rules.reserve or self._event_loop.store.journal.spare_files.has_reserve():
            return "stored messages are delivered"
        return "deliveries stop when the journal has no room, because there is no reserve"

    def _note_wait(self, waits: bool) -> None:
        """Log a line when the journal starts or stops waiting for disk space.

        `waits` is True while the journal is waiting. During this time, deliveries and
        acknowledgements wait too.
        """
        if waits and not self._waits:
            logger.error(
                "no room for the journal, %d bytes are free: deliveries and acknowledgements wait",
                self.disk.free_bytes,
            )
        elif self._waits and not waits:
            logger.info("the journal has room again: deliveries continue")
        self._waits = waits

    # -- in the thread

    def _begin(self, work: Any) -> None:
        self._working = self._loop.run_in_executor(self._thread, work)
        self._working.add_done_callback(self._worked)

    def _worked(self, done: "asyncio.Future[Any]") -> None:
        self._working = None
        error = done.exception()
        if error is not None and not isinstance(error, OSError):
            self._event_loop.committer.halt(error)
        elif error is not None:
            logger.warning("no disk space could be freed: %s", error)
        elif isinstance(done.result(), Round):
            self._remove_selected(done.result())

    def _begin_round(self, rules: Rules) -> None:
        journal = [
            Item(Kind.JOURNAL, f"journal/{path.name}", size_bytes, first, first, last)
            for path, size_bytes, first, last in self._event_loop.store.droppable_files()
        ]
        free_bytes = self.disk.free_bytes
        self._begin(lambda: Round(self._removals(journal, free_bytes, rules)))

    def _removals(self, journal: list[Item], free_bytes: int, rules: Rules) -> list[Item]:
        """List the folders and return the files to remove in this round.

        `journal` contains the journal files that may be removed.
        """
        if not is_room_needed(self._inventory.totals() + journal, free_bytes, rules):
            return []
        items = self._inventory.items(REMOVALS_MAX) + journal
        removals = takewhile(lambda each: each.count == 1, removals_of(items, free_bytes, rules))
        return list(islice(removals, REMOVALS_MAX))

    def _remove_selected(self, selected: Round) -> None:
        """Begin to remove the selected files.

        Events in these files may be missing from the session log afterwards. Therefore, the ranges
        of the events' sequence numbers are logged before the removal.
        """
        removals = selected.removals
        if not removals:
            return
        lost = (Kind.SEGMENT, Kind.DAMAGED)
        for first, last in ranges_of(
            item for item in removals if item.kind in lost and item.last_sequence
        ):
            logger.error(
                "no room: segments with events %d to %d are removed; events that were not "
                "uploaded will be missing in the session log",
                first,
                last,
            )
            self._event_loop.broker.observe(None, Observation.LOG_TRUNCATED, str(first), str(last))
        self._event_loop.committer.journal_room.give_up(
            sum(item.size_bytes for item in removals if item.kind == Kind.JOURNAL)
        )
        files = [item for item in removals if item.kind != Kind.JOURNAL]
        self.removed.update(item.kind.name.lower() for item in removals)
        self._next_check = 0.0  # there may be more files than one round can remove
        self._event_loop.schedule()
        if files:
            self._begin(lambda: self._remove(files))

    def _remove(self, files: list[Item]) -> None:
        for item in files:
            remove(self._data_dir, item)

    # -- the reserve

    def _wants_reserve(self, rules: Rules, now: float) -> bool:
        return (
            now >= self._next_reserve
            and rules.reserve > 0
            and not self._event_loop.limits.disk_full
            and not self._event_loop.store.journal.spare_files.has_reserve()
            # Creating the reserve must not make it necessary to remove files.
            and self.disk.free_bytes - rules.reserve > rules.removal_below_bytes
        )

    def _create_reserve(self) -> None:
        self._next_reserve = self._loop.time() + RESERVE_RETRY_SECONDS
        self._event_loop.store.journal.spare_files.create_reserve(self.rules.reserve)

    # -- the status

    def status(self) -> dict[str, Any]:
        """Return the `disk` object of the broker's status."""
        rules = self.rules
        return {
            "total_bytes": self.disk.total_bytes,
            "free_bytes": self.disk.free_bytes,
            "free_min": rules.free_min,
            "full": self.full_since_ms is not None,
            "full_since_ms": self.full_since_ms,
            "waits": self._event_loop.committer.writer.waits_for_room,
            "reserve": self._event_loop.store.journal.spare_files.has_reserve(),
            "removed": dict(sorted(self.removed.items())),
        }

    async def stop(self) -> None:
        """Wait for the current file operation to finish, then stop the thread."""
        if self._working is not None:
            await asyncio.wait([self._working])
        self._thread.shutdown()


def ranges_of(items: Any) -> list[tuple[int, int]]:
    """Return the ranges of event numbers in segment files (`items`). Adjacent ranges are merged."""
    ranges: list[tuple[int, int]] = []
    for item in items:
        if ranges and ranges[-1][1] + 1 == item.first_sequence:
            ranges[-1] = ranges[-1][0], item.last_sequence
        elif (item.first_sequence, item.last_sequence) not in ranges:
            ranges.append((item.first_sequence, item.last_sequence))
    return ranges
