"""A broker reports which events are lost after damage to its newest journal file."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.broker.store.journal_damage import newest_file
from tests.system.broker_process import BrokerProcess
from tests.system.stage import Stage

MESSAGES = 100


@pytest.fixture
def broker() -> Iterator[BrokerProcess]:
    process = BrokerProcess()
    try:
        process.start()
        yield process
    finally:
        process.remove()


def truncated(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(len(path.read_bytes().rstrip(b"\0")) // 2)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def missing(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("damage", [truncated, emptied, missing])
async def test_a_killed_broker_reports_the_end_that_is_missing_in_log_page_and_session_log(
    broker: BrokerProcess, damage: Callable[[Path], None]
) -> None:
    async with Stage(broker, "e") as stage:
        subscriber = await stage.client("away", clean=False)
        await subscriber.subscribe((stage.topic("a"), 1))
        await subscriber.disconnect()
        payloads = [b"%d" % number for number in range(MESSAGES)]
        await stage.burst(stage.topic("a"), payloads, qos=1)
        broker.signal(signal.SIGKILL)
        await asyncio.to_thread(broker.kill)
        damage(newest_file(broker.data_directory))
        await asyncio.to_thread(broker.start)
        status = await stage.status()
        assert status["store"]["recovery"] == "salvaged"
        detail = status["store"]["detail"]
        assert "the end of the journal is missing: events " in detail
        assert " bytes of 0000000001.ogj" in detail
        assert any(
            "the end of the journal is missing" in each["sentence"] for each in status["warnings"]
        )
        assert "error: the end of the journal is missing" in broker.standard_error()
        await stage.client("committed", clean=False)
        journal = newest_file(broker.data_directory).read_bytes()
        assert b"the end of the journal is missing" in journal, "an event of the session log"


async def test_a_broker_that_was_killed_and_whose_journal_is_whole_reports_nothing(
    broker: BrokerProcess,
) -> None:
    async with Stage(broker, "e") as stage:
        await stage.burst(stage.topic("a"), [b"x"] * MESSAGES, qos=1)
        broker.signal(signal.SIGKILL)
        await asyncio.to_thread(broker.kill)
        await asyncio.to_thread(broker.start)
        assert (await stage.status())["store"]["recovery"] == "unclean"
        assert await asyncio.to_thread(broker.stop) == 0
        await asyncio.to_thread(broker.start)
        assert (await stage.status())["store"]["recovery"] == "clean"


async def test_a_clean_stop_leaves_a_journal_whose_missing_end_is_in_the_tables(
    broker: BrokerProcess,
) -> None:
    async with Stage(broker, "e") as stage:
        subscriber = await stage.client("away", clean=False)
        await subscriber.subscribe((stage.topic("a"), 1))
        await subscriber.disconnect()
        await stage.burst(stage.topic("a"), [b"%d" % number for number in range(20)], qos=1)
        assert await asyncio.to_thread(broker.stop) == 0
        newest_file(broker.data_directory).unlink()
        await asyncio.to_thread(broker.start)
        status = await stage.status()
        assert status["store"]["recovery"] == "salvaged"
        assert "they are in the tables" in status["store"]["detail"]
        subscriber = await stage.client("away", clean=False)
        seen = [(await subscriber.take()).payload for _ in range(20)]
        assert seen == [b"%d" % number for number in range(20)]
