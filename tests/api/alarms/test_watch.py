"""The alarm watch in front of a contract broker that starts and stops."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from api import limits
from api.alarms.alarm import Alarm, Key
from api.alarms.conditions.condition import Condition, Level
from api.alarms.conditions.thresholds import Thresholds
from api.alarms.store import AlarmStore
from api.alarms.table import CLEAR_SECONDS
from api.alarms.watch import STARTING_SECONDS, AlarmWatch, Patience, Sources
from api.status.control_socket import ControlSocket
from api.status.machine import Machine
from api.status.observer import Observer
from tests.api.alarms.gateway import warning
from tests.api.alarms.test_store import disk_full
from tests.api.contract_broker import ContractBroker

DEFAULT = Thresholds()

CLOCK = Condition("clock_unsynchronised", "clock", Level.ATTENTION, "It is not synchronised.")
LOST = Condition("port_lost", "port gps", Level.ATTENTION, "It is lost.")


@asynccontextmanager
async def watching(
    tmp_path: Path,
    thresholds: Thresholds = DEFAULT,
    clock: Callable[[], float] = time.monotonic,
) -> AsyncIterator[AlarmWatch]:
    """Run an alarm watch that checks the conditions only when a test calls `look`."""
    observer = Observer(ControlSocket(tmp_path / "status.sock"))
    store = AlarmStore(tmp_path / "alarms.db")
    sources = Sources(
        card=lambda: None,
        certificate=lambda: None,
        machine=lambda: Machine(None, None, None, None),
    )
    watch = AlarmWatch(observer, store, sources, thresholds, clock)
    await watch.load()
    try:
        yield watch
    finally:
        store.close()
        await observer.close()


async def look_again(watch: AlarmWatch) -> None:
    """Check the conditions after the observer's last answer has become too old to be reused."""
    await asyncio.sleep(limits.ANSWER_REUSE_SECONDS)
    await watch.examine()


def identifiers(watch: AlarmWatch) -> list[str]:
    return [alarm.id for alarm in watch.active()]


async def test_a_condition_is_an_alarm_that_outlives_a_restart(tmp_path: Path) -> None:
    async with ContractBroker(tmp_path / "status.sock") as broker:
        broker.status["warnings"] = [warning("3 were dropped.", "messages_dropped")]
        async with watching(tmp_path) as watch:
            await watch.examine()
            [alarm] = watch.active()
        async with watching(tmp_path) as watch:
            assert list(watch.active()) == [alarm]
            await watch.acknowledge(Key("messages_dropped", "client c"), by="ben")
        async with watching(tmp_path) as watch:
            [known] = watch.active()
            assert known.acknowledged_by == "ben"


async def test_an_alarm_that_a_full_disk_refused_is_written_later(tmp_path: Path) -> None:
    async with ContractBroker(tmp_path / "status.sock") as broker, watching(tmp_path) as watch:
        broker.status["warnings"] = [warning("3 were dropped.", "messages_dropped")]
        with disk_full(watch._store):
            await watch.examine()
            assert watch.problem is not None
        await look_again(watch)
        assert watch.problem is None
    store = AlarmStore(tmp_path / "alarms.db")
    assert store.open() == list(watch.active())
    store.close()


async def test_a_file_that_cannot_be_opened_at_the_start_is_opened_later(tmp_path: Path) -> None:
    earlier = AlarmStore(tmp_path / "alarms.db")
    earlier.open()
    dropped = alarm_of("messages_dropped", "client c")
    acknowledged = replace(dropped, acknowledged_by="ben", acknowledged_ms=6)
    lost = alarm_of("port_lost", "port gps")
    earlier.save([acknowledged, lost])
    earlier.close()
    (tmp_path / "alarms.db").rename(tmp_path / "kept")
    (tmp_path / "alarms.db").mkdir()
    async with ContractBroker(tmp_path / "status.sock") as broker, watching(tmp_path) as watch:
        broker.status["warnings"] = [warning("3 were dropped.", "messages_dropped")]
        await watch.examine()
        assert watch.problem is not None
        assert [alarm.acknowledged_by for alarm in watch.active()] == [None]
        (tmp_path / "alarms.db").rmdir()
        (tmp_path / "kept").rename(tmp_path / "alarms.db")
        await look_again(watch)
        assert watch.problem is None
        assert {alarm.id: alarm.acknowledged_by for alarm in watch.active()} == {
            "messages_dropped": "ben",
            "port_lost": None,
        }
        await watch.acknowledge(Key("port_lost", "port gps"), by="anna")
    store = AlarmStore(tmp_path / "alarms.db")
    assert {alarm.acknowledged_by for alarm in store.open()} == {"ben", "anna"}
    store.close()


async def test_alarms_that_ended_while_the_file_could_not_be_opened_are_in_the_history(
    tmp_path: Path,
) -> None:
    clock = Clock()
    (tmp_path / "alarms.db").mkdir()
    async with (
        ContractBroker(tmp_path / "status.sock") as broker,
        watching(tmp_path, clock=clock.monotonic) as watch,
    ):
        broker.status["warnings"] = [warning("It is full.")]
        await watch.examine()
        broker.status["warnings"] = []
        await look_again(watch)
        clock.seconds = CLEAR_SECONDS
        await look_again(watch)
        assert identifiers(watch) == []
        (tmp_path / "alarms.db").rmdir()
        await look_again(watch)
        assert [alarm.id for _, alarm in await watch.cleared(before=None, limit=5)] == [
            "queue_filling"
        ]


def alarm_of(id: str, subject: str) -> Alarm:
    return Alarm(
        id=id, subject=subject, level=Level.ATTENTION, sentence="It was.", fix="", since_ms=5,
        changed_ms=5,
    )  # fmt: skip


async def test_changes_are_handed_to_the_broker_for_the_bridge_and_nothing_else_is(
    tmp_path: Path,
) -> None:
    async with ContractBroker(tmp_path / "status.sock") as broker, watching(tmp_path) as watch:
        await watch.examine()
        assert broker.alarms["port_lost"] is None, "the first look clears what is retained"
        broker.status["warnings"] = [warning("It is full.")]
        await look_again(watch)
        assert broker.alarms["queue_filling"]["alarms"][0]["sentence"] == "It is full."
        count = broker.count_of("alarms")
        broker.status["warnings"] = [warning("It is fuller.")]
        await look_again(watch)
        assert broker.count_of("alarms") == count


class Clock:
    """A monotonic clock that a test may set forward."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.seconds


async def test_while_the_broker_is_down_that_is_an_alarm_and_the_others_stay(
    tmp_path: Path,
) -> None:
    clock = Clock()
    async with watching(tmp_path, clock=clock.monotonic) as watch:
        async with ContractBroker(tmp_path / "status.sock") as broker:
            broker.status["warnings"] = [warning("It is full.")]
            await watch.examine()
        await look_again(watch)
        assert identifiers(watch) == ["queue_filling"]
        clock.seconds += STARTING_SECONDS["broker_down"]
        await look_again(watch)
        assert identifiers(watch) == ["broker_down", "queue_filling"]


async def test_a_clock_is_given_its_time(tmp_path: Path) -> None:
    async with ContractBroker(tmp_path / "status.sock") as broker:
        broker.status["clock"] = "unsynchronised"
        async with watching(tmp_path) as watch:
            await watch.examine()
            assert identifiers(watch) == []
        async with watching(tmp_path, Thresholds(clock_seconds=0.0)) as watch:
            await watch.examine()
            assert identifiers(watch) == ["clock_unsynchronised"]


async def test_events_are_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "api.alarms")
    async with ContractBroker(tmp_path / "status.sock") as broker, watching(tmp_path) as watch:
        broker.status["warnings"] = [warning("It is full.")]
        await watch.examine()
        await watch.examine()
        await watch.acknowledge(Key("queue_filling", "client c"), by="ben")
    assert [record.message for record in caplog.records] == [
        "alarm queue_filling (client c): raised, warning: It is full.",
        "alarm queue_filling (client c): acknowledged by ben",
    ]


def test_a_condition_counts_when_it_has_lasted() -> None:
    patience = Patience({CLOCK.id: 600.0})
    assert patience.lasting([CLOCK, LOST], now=100.0) == [LOST]
    assert patience.lasting([CLOCK, LOST], now=699.9) == [LOST]
    assert patience.lasting([CLOCK, LOST], now=700.0) == [CLOCK, LOST]


def test_an_interruption_starts_the_time_again() -> None:
    patience = Patience({CLOCK.id: 600.0})
    patience.lasting([CLOCK], now=0.0)
    patience.lasting([], now=300.0)
    assert patience.lasting([CLOCK], now=601.0) == []
