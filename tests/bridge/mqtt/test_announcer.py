"""Descriptions at an independent broker: all are published, a few at a time, and removed again."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from firmware_bridge.mqtt.announcer import UNACKNOWLEDGED_MAX, Announcer
from firmware_bridge.mqtt.discovery_file import load
from firmware_bridge.mqtt.settings import BrokerSettings

from tests.bridge.broker import DEADLINE_SECONDS, Mosquitto, Subscriber

COUNT = 3 * UNACKNOWLEDGED_MAX
# Below `sensors/`, so that the subscriber receives them.
CONFIGS = {f"sensors/device/d{number}/config": b"{}" for number in range(COUNT)}


def announcer_of(port: int, path: Path, configs: Mapping[str, bytes]) -> Announcer[str]:
    return Announcer(
        BrokerSettings("127.0.0.1", port, "bridge"),
        path,
        lambda _: configs,
        ports=(),
        configured=lambda devices, _: devices,
        status_topic="sensors/status" if configs else None,
    )


@contextlib.asynccontextmanager
async def running(announcer: Announcer[str]) -> AsyncIterator[None]:
    task = asyncio.create_task(announcer.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until_logged(text: str, caplog: pytest.LogCaptureFixture) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            if text in caplog.text:
                return
            await asyncio.sleep(0.01)  # Polled: the log has no event.


async def test_more_descriptions_than_are_under_way_at_a_time_are_published_and_removed(
    mosquitto: Mosquitto, subscriber: Subscriber, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    async with running(announcer_of(mosquitto.port, path, CONFIGS)):
        await subscriber.arrival_of(COUNT)
    assert dict(subscriber.messages) == CONFIGS
    assert load(path).topics == {*CONFIGS}
    async with asyncio.timeout(DEADLINE_SECONDS):
        await announcer_of(mosquitto.port, path, {}).run()
    # At QoS 1 some may have arrived twice, so their number does not show that all have.
    async with asyncio.timeout(DEADLINE_SECONDS):
        while dict(subscriber.messages) != dict.fromkeys(CONFIGS, b""):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    assert not path.exists()


async def test_what_is_not_remembered_is_not_published(
    mosquitto: Mosquitto,
    subscriber: Subscriber,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("firmware_bridge.mqtt.announcer.CHECK_SECONDS", 0.05)
    folder = tmp_path / "later"
    async with running(announcer_of(mosquitto.port, folder / "file", CONFIGS)):
        await until_logged("cannot be written", caplog)
        await subscriber.settled()
        assert subscriber.messages == []
        # While the folder is being made, another message may give another reason.
        assert len([each for each in caplog.records if "cannot be written" in each.message]) == 1
        folder.mkdir()
        await subscriber.arrival_of(COUNT)


async def test_without_anything_to_describe_or_remove_there_is_no_connection(
    tmp_path: Path,
) -> None:
    await announcer_of(1, tmp_path / "file", {}).run()


async def test_a_flood_of_starts_has_all_sent_again_once(
    mosquitto: Mosquitto, subscriber: Subscriber, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firmware_bridge.mqtt.announcer.CHECK_SECONDS", 0.05)
    monkeypatch.setattr("firmware_bridge.mqtt.announcer.AGAIN_SECONDS_MIN", 3600.0)
    one = dict([next(iter(CONFIGS.items()))])
    announcer = announcer_of(mosquitto.port, tmp_path / "file", one)
    async with running(announcer):
        await subscriber.arrival_of(1)
        online = (
            "mosquitto_pub",
            "-p",
            str(mosquitto.port),
            "-t",
            "sensors/status",
            "-m",
            "online",
        )
        for count in range(20):
            process = await asyncio.create_subprocess_exec(*online)
            await process.wait()
            await subscriber.arrival_of(3 + count)
        await asyncio.sleep(0.3)  # Six checks, in each of which a description could be repeated.
        await subscriber.settled()
    assert [topic for topic, _ in subscriber.messages].count(*one) == 2


async def test_the_status_of_home_assistant_is_noted(
    mosquitto: Mosquitto, subscriber: Subscriber, tmp_path: Path
) -> None:
    announcer = announcer_of(mosquitto.port, tmp_path / "file", CONFIGS)
    nothing = {"connected": False, "fault": None, "status": None, "status_ms": None}
    assert announcer.status() == nothing
    async with running(announcer), asyncio.timeout(DEADLINE_SECONDS):
        while not announcer.status()["connected"]:  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.01)
        while announcer.status()["status"] != "offline":  # Repeated until it is subscribed.
            for payload in ("online", "offline", "unknown"):
                subscriber.publish("sensors/status", payload)
            await asyncio.sleep(0.05)
        assert isinstance(announcer.status()["status_ms"], int)
    assert announcer.status()["connected"] is False
