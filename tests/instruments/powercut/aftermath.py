"""Checks of Oncegate's data after a campaign, when every client has finished."""

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
    """Check that no message waits, the tables are empty, and the session log is complete.

    `published` is the number of published QoS 2 messages. Across all cuts the log must have no gap,
    and each segment must name the previous one. With `disk_failed`, the disk had faults in addition
    to cuts, which the uploader then reports.
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
    # The effects of a cut are not an error for the uploader.
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
    # Two segments have one number if the disk lost one that had already been uploaded.
    of_number: dict[int, set[str | None]] = {0: {None}}
    for header, sha256 in _segments_of(data_directory):
        number = header["segment"]
        assert header["previous_sha256"] in of_number.get(number - 1, ()), header
        of_number.setdefault(number, set()).add(sha256)
        assert may_fork or len(of_number[number]) == 1, header


def _segments_of(data_directory: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each uploaded segment's header, and the sha256 in its name, in order."""
    paths = sorted(
        (data_directory / "uploaded").rglob("*.jsonl.zst"),
        key=lambda path: int(path.name.split(".")[2]),
    )
    for path in paths:
        with zstd.open(path, "rt", encoding="utf-8") as lines:
            yield json.loads(next(lines)), path.name.split(".")[4]
