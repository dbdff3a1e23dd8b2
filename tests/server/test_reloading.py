"""The configuration is read again: what changes immediately, what with the next start."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.access.certificates import CertificateError
from gateway.configuration import Configuration, ConfigurationError, load
from gateway.server.listeners.address_limits import address_of
from gateway.server.main import Running
from gateway.server.reloading import changes_between
from tests.access.authority import DAY, Authority


def configured(**overrides: object) -> Configuration:
    return load(
        None, {}, {name.replace("__", "."): value for name, value in overrides.items()}, None
    )


def test_changes_are_named_by_key_and_what_needs_a_start_by_section(tmp_path: Path) -> None:
    before = configured(mqtt__max_inflight=20, limits__commit_delay="0s")
    after = configured(
        mqtt__max_inflight=5,
        limits__commit_delay="10ms",
        disk__free_min="1MiB",
        gateway__data_dir=tmp_path,
        queues=[{"client": "a", "when_full": "refuse"}],
    )
    changed, needs_restart = changes_between(before, after)
    assert sorted(changed) == [
        "disk.free_min",
        "limits.commit_delay",
        "mqtt.max_inflight",
        "queues",
    ]
    assert needs_restart == ["gateway"]
    assert changes_between(after, after) == ([], [])


@asynccontextmanager
async def running(
    tmp_path: Path, read: Callable[[], Configuration], **overrides: object
) -> AsyncIterator[Running]:
    overrides = {"listeners": [{"port": 0}]} | overrides
    first = configured(gateway__data_dir=tmp_path / "data", **overrides)
    stop = asyncio.Event()
    broker = await Running.start(first, read)
    upkeep = asyncio.create_task(broker.until(stop))
    try:
        yield broker
    finally:
        stop.set()
        await upkeep
        await broker.stop()
        asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)


async def test_limits_that_are_read_again_hold_immediately(tmp_path: Path) -> None:
    overrides: dict[str, Any] = {
        "gateway__data_dir": tmp_path / "data",
        "listeners": [{"port": 0}],
        "mqtt__max_inflight": 3,
        "limits__max_uncommitted": "64KiB",
        "disk__free_min": "1MiB",
    }
    async with running(tmp_path, lambda: configured(**overrides)) as broker:
        changed = broker.reloading.reload()["changed"]
        assert sorted(changed) == ["disk.free_min", "limits.max_uncommitted", "mqtt.max_inflight"]
        event_loop = broker.event_loop
        assert event_loop.limits.max_inflight == 3
        assert event_loop.reading.uncommitted_bytes_max == 64 * 1024
        assert event_loop.committer.limits is event_loop.batch_limits
        assert broker.housekeeping.limits.free_min == 1024 * 1024
        assert broker.reloading.reload()["changed"] == []


async def test_quotas_that_are_read_again_hold_immediately(tmp_path: Path) -> None:
    overrides: dict[str, Any] = {
        "gateway__data_dir": tmp_path / "data",
        "listeners": [{"port": 0}],
    }
    async with running(tmp_path, lambda: configured(**overrides)) as broker:
        overrides["quotas__max_connections_per_address"] = 7
        overrides["user_quotas"] = [{"user": "sensor-*", "sessions": 3}]
        overrides["flapping__enable"] = True
        assert sorted(broker.reloading.reload()["changed"]) == [
            "flapping.enable",
            "quotas.max_connections_per_address",
            "user_quotas",
        ]
        core = broker.event_loop.broker
        assert core.state.owners.get("sensor-1").quota.sessions == 3
        assert core.bans.flapping.enabled
        address = address_of("192.0.2.7")
        refusals = [broker.listening.addresses.enter(address, 0.0)[0] for _ in range(8)]
        assert refusals == 7 * [""] + ["max_connections_per_address"]


async def test_certificates_are_read_again_and_what_cannot_be_used_changes_nothing(
    tmp_path: Path,
) -> None:
    authority = Authority(tmp_path / "ca")
    certificate, key = authority.issue("gateway")
    tls = {"certificate": str(certificate), "key": str(key)}
    listeners = {"listeners": [{"port": 0}, {"port": 0, "tls": tls}]}

    def read() -> Configuration:
        return configured(gateway__data_dir=tmp_path / "data", mqtt__max_inflight=3, **listeners)

    async with running(tmp_path, read, **listeners) as broker:
        served = broker.listening.certificates.all[0]
        assert broker.reloading.reload()["changed"] == ["mqtt.max_inflight"]
        authority.issue("gateway", ends=70 * DAY)
        assert broker.reloading.reload() == {"changed": ["listeners.tls"], "needs_restart": []}
        before = served.loaded
        broker.event_loop.limits.max_inflight = 7
        key.chmod(0o644)
        with pytest.raises(CertificateError, match="is a secret"):
            broker.reloading.reload()
        assert broker.event_loop.limits.max_inflight == 7, "of what is wrong nothing holds"
        assert served.loaded is before
        answer = await broker.control._answer(b'{"command":"reload"}')
        assert answer["ok"] is False
        assert "the configuration stays as it was: " in str(answer)


async def test_a_mistake_in_the_file_leaves_everything_as_it_was_also_at_sighup(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def read() -> Configuration:
        return configured(mqtt__max_inflight="many")

    async with running(tmp_path, read, mqtt__max_inflight=7) as broker:
        before = broker.reloading.configuration
        with pytest.raises(ConfigurationError):
            broker.reloading.reload()
        with caplog.at_level(logging.ERROR):
            broker.reloading.reload_on_signal()
        assert caplog.messages[-1].startswith("the configuration stays as it was: ")
        assert broker.reloading.configuration is before
        assert broker.event_loop.limits.max_inflight == 7
