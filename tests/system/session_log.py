"""The uploader beside a broker under test, and what the uploaded session log says afterwards.

The log is read as docs/formats/session-log.md describes it, without the product's code: whoever has
the segments can check that each message was received once, released once and delivered once.
"""

import io
import json
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zstandard

from tests.system.broker_process import oncegate_command

STOP_DEADLINE_SECONDS = 30.0


class Uploader:
    """`oncegate upload` on a data directory; it seals every half second, to be met busy."""

    def __init__(self, data_directory: Path) -> None:
        self._data_directory = data_directory
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process; it waits for the broker by itself."""
        self._process = subprocess.Popen(
            [*oncegate_command(), "upload", "--data-dir", str(self._data_directory), "--quiet"],
            stdin=subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin", "ONCEGATE_SESSION_LOG_SEAL_AFTER": "500ms"},
        )

    def kill(self) -> None:
        """Stop it with SIGKILL, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(STOP_DEADLINE_SECONDS)

    def stop(self) -> int:
        """Stop it with SIGTERM: it seals and uploads what is left; its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(STOP_DEADLINE_SECONDS)


@dataclass
class Deliveries:
    """What the log says of every message, by (store, message) and by session."""

    event_count: int = 0
    held: Counter[Any] = field(default_factory=Counter)
    released: Counter[Any] = field(default_factory=Counter)
    completed: Counter[Any] = field(default_factory=Counter)
    dropped: Counter[Any] = field(default_factory=Counter)


def deliveries_of(data_directory: Path) -> Deliveries:
    """Read every uploaded segment, in order and without a gap."""
    deliveries = Deliveries()
    for event in _events_of(data_directory):
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


def _events_of(data_directory: Path) -> Iterator[dict[str, Any]]:
    # The name says which events a segment holds: <gateway>.<boot>.<segment>.<first>-<last>...
    paths = (data_directory / "uploaded").rglob("*.jsonl.zst")
    for path in sorted(paths, key=lambda path: path.name.split(".")[3]):
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as plain:
            for line in io.TextIOWrapper(plain, "utf-8"):
                record = json.loads(line)
                if "event" in record:
                    yield record
