"""The uploader next to a broker under test, and the contents of the uploaded session log.

The log is read as docs/formats/session-log.md defines it, without the product's code: anyone with
the segments can check that each message was received once, released once and delivered once.
"""

import contextlib
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backports import zstd

from gateway.broker.store.journal_files import FOLDER_NAME, journal_files, sequence_of
from tests.system.warm_command import WarmProcess

STOP_DEADLINE_SECONDS = 60.0
EXPORT_DEADLINE_SECONDS = 120.0


class Uploader:
    """`oncegate upload` on a data directory. It seals a segment every half second, so that kills
    interrupt it at work.

    It writes its own log to the file `log`, or else to the standard error of the tests.
    """

    def __init__(self, data_directory: Path, log: Path | None = None) -> None:
        self._data_directory = data_directory
        self._log = log
        self._process: WarmProcess | None = None

    def start(self) -> None:
        """Start the process, which itself waits for the broker."""
        with contextlib.ExitStack() as files:
            log = files.enter_context(self._log.open("ab")) if self._log else sys.__stderr__
            assert log is not None
            self._process = WarmProcess(
                ["upload", "--data-dir", str(self._data_directory), "--quiet"],
                output=log,
                errors=log,
                directory=self._data_directory.parent,
                environment={"PATH": "/usr/bin:/bin", "ONCEGATE_SESSION_LOG_SEAL_AFTER": "500ms"},
            )

    @property
    def is_running(self) -> bool:
        """True while the process is alive."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """Kill the process with SIGKILL, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(STOP_DEADLINE_SECONDS)

    def stop_when_done(self) -> int:
        """Wait until the journal of a stopped broker is uploaded, stop the uploader and return its
        exit code.

        The uploader has a low priority. On a busy machine it may be far behind, and a stop does not
        wait for all of it.
        """
        assert self._process is not None
        files = journal_files(self._data_directory / FOLDER_NAME)
        last_batch = max(sequence_of(blob) for blob in files[-1].blobs(is_newest=True) or ())
        deadline = time.monotonic() + EXPORT_DEADLINE_SECONDS
        while max((_last_sequence(path) for path in _segments(self._data_directory)), default=0) < (
            last_batch
        ):
            assert time.monotonic() < deadline, f"the log does not reach sequence {last_batch}"
            time.sleep(0.1)
        if self._set_aside():
            # A segment that the disk could not return for a while is retried after a minute or at
            # the next start.
            self._stop()
            self.start()
            while self._set_aside():
                assert time.monotonic() < deadline, f"not tried again: {self._set_aside()}"
                time.sleep(0.1)
        return self._stop()

    def _stop(self) -> int:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(STOP_DEADLINE_SECONDS)

    def _set_aside(self) -> list[str]:
        damaged = self._data_directory / "log" / "damaged"
        return [path.name for path in damaged.glob("*.jsonl.zst")]


@dataclass
class Deliveries:
    """Counts of the log's events by message. Completed deliveries also count by session."""

    event_count: int = 0
    held: Counter[Any] = field(default_factory=Counter)
    released: Counter[Any] = field(default_factory=Counter)
    completed: Counter[Any] = field(default_factory=Counter)
    dropped: Counter[Any] = field(default_factory=Counter)


def deliveries_of(data_directory: Path, *, may_repeat: bool = False) -> Deliveries:
    """Read every uploaded segment in order and check that there is no gap.

    After a disk error an event `may_repeat` and is counted once: a segment that cannot be read for
    a while is exported again, although it may have arrived before (docs/formats/session-log.md).
    """
    deliveries = Deliveries()
    counted: dict[int, dict[str, Any]] = {}
    for event in _events_of(data_directory):
        if may_repeat and event["sequence"] in counted:
            assert event == counted[event["sequence"]], "one sequence number, two events"
            continue
        counted[event["sequence"]] = event
        deliveries.event_count += 1
        assert event["sequence"] == deliveries.event_count, f"a gap before {event}"
        message = event.get("message")
        match event["event"]:
            case "message_held":
                deliveries.held[message] += 1
            case "message_released":
                deliveries.released[message] += 1
            case "delivery_completed":
                deliveries.completed[event["session"], message] += 1
            case "message_dropped":
                deliveries.dropped[event["reason"]] += 1
    return deliveries


def _segments(data_directory: Path) -> list[Path]:
    return list((data_directory / "uploaded").rglob("*.jsonl.zst"))


def _last_sequence(segment: Path) -> int:
    # <gateway>.<boot>.<segment>.<first>-<last>.<sha256>.jsonl.zst
    return int(segment.name.split(".")[3].split("-")[1])


def _events_of(data_directory: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(_segments(data_directory), key=_last_sequence):
        with zstd.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                if "event" in record:
                    yield record
