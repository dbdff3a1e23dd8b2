"""A reload of the configuration: changes that apply immediately, or at the next start."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.broker.access.certificates.listener import CertificateError
from gateway.broker.access.errors import AccessFileError
from gateway.broker.access.passwords.file import set_password
from gateway.broker.server.listeners.address_limits import address_of
from gateway.broker.server.main import RunningBroker
from gateway.configuration import Configuration, ConfigurationError, load
from tests.broker.access.authority import DAY, Authority
from tests.broker.server.reloading_broker import reloading_broker


def configured(**overrides: object) -> Configuration:
    return load(
        None, {}, {name.replace("__", "."): value for name, value in overrides.items()}, None
    )


@asynccontextmanager
async def running(
    tmp_path: Path, read: Callable[[], Configuration], **overrides: object
) -> AsyncIterator[RunningBroker]:
    overrides = {"listeners": [{"port": 0}]} | overrides
    first = configured(gateway__data_dir=tmp_path / "data", **overrides)
    stop = asyncio.Event()
    broker = await RunningBroker.start(first, read)
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
        assert broker.reloading.reload()["changed"] == ["listeners.tls"]
        before = served.loaded
        broker.event_loop.limits.max_inflight = 7
        key.chmod(0o644)
        with pytest.raises(CertificateError, match="is a secret"):
            broker.reloading.reload()
        assert broker.event_loop.limits.max_inflight == 7, "of what is wrong nothing holds"
        assert served.loaded is before
        answer = await broker.control._answer(b'{"command":"reload"}', "a test")
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


async def test_what_waits_for_a_restart_is_named_until_it_is_no_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with reloading_broker(tmp_path, listeners=[{"port": 0}]) as broker:
        with caplog.at_level(logging.WARNING):
            answer = broker.reload(hooks__module="mine", bridge__window=5, mqtt__max_inflight=5)
        assert answer == {
            "changed": ["mqtt.max_inflight"],
            "new_connections": [],
            "processes": {"bridge": ["bridge.window"]},
            "needs_restart": ["hooks.module"],
            "connections_ended": 0,
        }
        assert caplog.messages[-2:] == [
            "these keys wait for a restart of `oncegate bridge`: bridge.window",
            "these keys wait for a restart of the gateway: hooks.module",
        ]
        assert broker.reload()["needs_restart"] == ["hooks.module"], "also the next time"
        status = await broker.running.status.current()
        assert status["needs_restart"] == ["hooks.module"]
        assert [each["id"] for each in status["warnings"]] == ["restart_needed"]
        assert broker.reload(hooks__module=None)["needs_restart"] == []
        assert (await broker.running.status.current())["needs_restart"] == []


async def test_topics_of_the_session_log_are_recorded_from_the_reload_on(tmp_path: Path) -> None:
    async with reloading_broker(tmp_path, listeners=[{"port": 0}]) as broker:
        tree = broker.running.event_loop.broker.state.tree
        assert not tree.route_of("other/a").logged
        assert tree.route_of("sensors/a").logged
        broker.reload(session_log__payload_topics=["other/#"])
        assert tree.route_of("other/a").logged
        assert not tree.route_of("sensors/a").logged


MISTAKES: dict[str, dict[str, object]] = {
    "a value": {"mqtt__max_inflight": "many"},
    "an unknown key": {"mqtt__no_such_key": 1},
    "what does not fit together": {"bridge__window": 200},
    "a missing password file": {"access__password_file": "missing"},
    "a wrong password file": {"access__password_file": "wrong"},
    "a missing rules file": {"access__rules_file": "missing"},
    "a wrong rules file": {"access__rules_file": "wrong"},
    "a certificate": {"listeners": [{"port": 0, "tls": {"certificate": "no", "key": "no"}}]},
    "keys of a provider": {"access__jwt": {"issuer": "i", "audience": "a", "jwks_file": "missing"}},
    "an address that is not this machine's": {
        "listeners": [{"port": 0}, {"port": 0, "bind": "192.0.2.1", "anonymous": False}],
        "access__password_file": "users",
    },
}


@pytest.mark.parametrize("mistake", MISTAKES)
async def test_a_mistake_of_any_kind_changes_nothing_and_no_connection_notices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mistake: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong").write_text("allow perhaps\n")
    set_password(tmp_path / "users", "anna", b"secret", scram_iterations=4_096)
    async with reloading_broker(tmp_path, listeners=[{"port": 0}]) as broker:
        reloading, event_loop = broker.running.reloading, broker.running.event_loop
        client = await broker.client(broker.shown[0]["port"], "a")
        before, shown = reloading.configuration, [dict(each) for each in broker.shown]
        written = dict(broker.written)
        others = {"mqtt__max_inflight": 3, "flapping__enable": True, "disk__free_min": "2MiB"}
        with pytest.raises((ConfigurationError, AccessFileError)):
            broker.reload(**others | MISTAKES[mistake])
        assert reloading.configuration is before
        assert broker.shown == shown
        assert event_loop.limits.max_inflight == 32
        assert not event_loop.broker.bans.flapping.enabled
        assert not reloading.configuration.access.sources
        assert reloading.rules is None
        await client.ping()
        assert broker.errors == {}
        broker.written = written
        assert broker.reload()["changed"] == []
