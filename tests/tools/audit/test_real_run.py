"""`oncegate audit` as an operator runs it on a broker under load, which is killed repeatedly.

The audit runs once while the broker runs, and once after it has stopped.
"""

import asyncio
import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.peers.resuming_client import Progress, Publisher, Subscriber
from tests.system.broker_process import oncegate_command
from tests.system.session_log import Uploader
from tests.system.stage import Stage

KILL_COUNT = 6
AUDIT_DEADLINE_SECONDS = 60.0
SEGMENTS_LOST = 6
FILTERS = {
    "exact": (("load/#", 2),),
    "overlapping": (("load/#", 1), ("load/+/+", 2), ("load/+/2", 0)),
}


def run_audit(data_directory: Path, *more: str) -> tuple[int, dict[str, Any]]:
    outcome = subprocess.run(
        [*oncegate_command(), "audit", "--data-dir", str(data_directory), "--json", *more],
        check=False,
        capture_output=True,
        timeout=AUDIT_DEADLINE_SECONDS,
    )
    assert outcome.returncode in (0, 3, 4), outcome.stderr.decode()
    return outcome.returncode, json.loads(outcome.stdout)


def lose_segments(directory: Path) -> None:
    """Remove one segment at a time, and assert that the audit reports a hole and no violation.

    A segment may contain all events of one start of the broker, and the journal may still have the
    same events.
    """
    uploaded = (directory / "uploaded").rglob("*.jsonl.zst")
    in_order = sorted(uploaded, key=lambda path: path.name.split(".")[2])
    for path in in_order[:-1][:SEGMENTS_LOST]:
        places = [path, *(directory / "log").rglob(path.name)]
        kept = {place: place.read_bytes() for place in places}
        for place in places:
            place.unlink()
        code, holed = run_audit(directory)
        assert (code, holed["violations"]) == (4, 0), holed["exceptions"]
        for place, content in kept.items():
            place.write_bytes(content)


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_broker_killed_under_load_is_audited_running_and_stopped_and_all_is_well(
    new_stage: Callable[..., Stage], new_uploader: Callable[[Stage], Uploader]
) -> None:
    source = random.Random(7)  # noqa: S311
    stage = new_stage()
    uploader = new_uploader(stage)
    port, directory = stage.broker.port, stage.broker.data_directory
    progress = Progress()
    subscribers = [
        Subscriber(port, name, random.Random(7), progress, filters=filters)  # noqa: S311
        for name, filters in FILTERS.items()
    ]
    publisher = Publisher(port, "many", source, progress, window=20)
    async with asyncio.TaskGroup() as tasks:
        for subscriber in subscribers:
            tasks.create_task(subscriber.run())
        for subscriber in subscribers:
            await subscriber.is_subscribed.wait()
        publishing = tasks.create_task(publisher.run())
        for _ in range(KILL_COUNT):
            await asyncio.sleep(source.uniform(0.2, 0.6))  # The moment of a kill is random.
            await asyncio.to_thread(stage.broker.kill)
            await asyncio.to_thread(stage.broker.start)
        code, running = await asyncio.to_thread(run_audit, directory)
        assert (code, running["exceptions"]) == (0, [])
        publisher.stop()
        await publishing
        progress.expected = {"load/end/1": 1, "load/end/2": 1} | {
            publisher.topic_of(qos): publisher.published[qos] for qos in (1, 2)
        }
        for qos in (1, 2):
            await stage.deliver(f"load/end/{qos}", b"1", qos=qos)
    assert await asyncio.to_thread(stage.broker.stop) == 0
    assert await asyncio.to_thread(uploader.stop_when_done) == 0
    code, stopped = await asyncio.to_thread(run_audit, directory)
    assert (code, stopped["verdict"], stopped["exceptions"]) == (0, "ok", [])
    counts = stopped["counts"]
    assert counts["held"] == counts["released"] == publisher.published[2]
    assert counts["entries"] == counts["completed"] + counts["ended"]
    await asyncio.to_thread(lose_segments, directory)
