"""What must be true of Oncegate's data once a campaign is over and every client has finished."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from backports import zstd

from tests.instruments.powercut.subjects import Oncegate
from tests.system.session_log import Deliveries, deliveries_of
from tests.system.stage import Stage

TABLES = ("inbound", "outbound", "queue", "messages")


async def examine(subject: Oncegate, *, published: int, disk_failed: bool = False) -> Deliveries:
    """Nothing waits, nothing is left in the tables, the session log reports all of it once.

    `published` is how many QoS 2 messages were published. The log is without a gap across all
    cuts, and each segment names the one before it. `disk_failed` states whether more than cuts was
    wrong with the disk, which the uploader then reports.
    """
    async with Stage(subject.broker, prefix="aftermath") as stage:
        status = await stage.eventually(
            lambda status: (
                status["inflight"]
                == status["awaiting_release"]
                == status["queued"]["messages"]
                == 0
            ),
            "nothing in flight, queued or awaiting release",
        )
    assert not status["messages"]["dropped"], status["messages"]
    assert await asyncio.to_thread(subject.broker.stop) == 0, subject.broker.standard_error()
    assert subject.broker.rows_of(*TABLES) == dict.fromkeys(TABLES, 0)
    assert await asyncio.to_thread(subject.uploader.stop_when_done) == 0
    # Nothing that a cut leaves is an error to it.
    assert disk_failed or "error:" not in subject.uploader_log(), subject.uploader_log()
    log = deliveries_of(subject.broker.data_directory, may_repeat=disk_failed)
    assert set(log.held.values()) == {1}
    assert log.released == log.held
    assert log.held.total() == published
    assert set(log.completed.values()) == {1}
    assert not log.dropped
    _check_the_chain(subject.broker.data_directory, may_fork=disk_failed)
    return log


def _check_the_chain(data_directory: Path, *, may_fork: bool) -> None:
    # Of one number there are two where a disk did not give back one that had arrived already.
    of_number: dict[int, set[str | None]] = {0: {None}}
    for header, sha256 in _segments_of(data_directory):
        number = header["segment"]
        assert header["previous_sha256"] in of_number.get(number - 1, ()), header
        of_number.setdefault(number, set()).add(sha256)
        assert may_fork or len(of_number[number]) == 1, header


def _segments_of(data_directory: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Each uploaded segment's header, and the sha256 that its name carries, in their order."""
    paths = sorted(
        (data_directory / "uploaded").rglob("*.jsonl.zst"),
        key=lambda path: int(path.name.split(".")[2]),
    )
    for path in paths:
        with zstd.open(path, "rt", encoding="utf-8") as lines:
            yield json.loads(next(lines)), path.name.split(".")[4]
