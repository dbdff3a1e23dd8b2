"""The processes as services: their notifications to systemd, and their reaction to its signals."""

import asyncio
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.peers.connection import DEADLINE_SECONDS
from tests.system.broker_process import (
    STOP_DEADLINE_SECONDS,
    BrokerProcess,
    free_port,
    oncegate_command,
)
from tests.system.stage import Stage


@pytest.fixture
def broker() -> Iterator[BrokerProcess]:
    """Return a broker that the test itself starts."""
    broker = BrokerProcess("[mqtt]\nmax_inflight = 7")
    yield broker
    broker.remove()


def _messages_until(manager: socket.socket, wanted: bytes) -> list[bytes]:
    """Return the service manager's messages, up to the first that begins with `wanted`."""
    reported: list[bytes] = []
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not (reported and reported[-1].startswith(wanted)):
        assert time.monotonic() < deadline, f"expected {wanted!r} in {reported}"
        try:
            reported += manager.recv(4096).split(b"\n")
        except TimeoutError:
            continue
    return reported


def test_systemd_is_notified_of_ready_alive_and_stopping(broker: BrokerProcess) -> None:
    with broker.notify_socket() as manager:
        path = str(manager.getsockname())
        broker.spawn({"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "1000000"})
        _messages_until(manager, b"READY=1")
        began = time.monotonic()
        for _ in range(4):
            _messages_until(manager, b"WATCHDOG=1")
        # Systemd recommends at least two notifications per interval, which is one second here.
        assert time.monotonic() - began < 3.0
        broker.signal(signal.SIGTERM)
        _messages_until(manager, b"STOPPING=1")
    assert broker.stop() == 0


def test_a_broker_whose_commit_hangs_is_not_alive(broker: BrokerProcess) -> None:
    broker.planted = (
        "import time; from gateway.broker.store.store import Store; "
        "Store.fsync_commit = lambda self: time.sleep(3600)"
    )
    with broker.notify_socket() as manager:
        path = str(manager.getsockname())
        broker.spawn({"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "1000000"})
        _messages_until(manager, b"READY=1")
        fed_at = began = time.monotonic()
        while time.monotonic() < fed_at + 2.0:
            assert time.monotonic() < began + DEADLINE_SECONDS, "it is fed all the time"
            try:
                if b"WATCHDOG=1" in manager.recv(4096):
                    fed_at = time.monotonic()
            except TimeoutError:
                continue
    assert broker.is_running, "systemd would end it now"


def test_a_reload_is_reported_with_the_time_at_which_it_began(broker: BrokerProcess) -> None:
    with broker.notify_socket() as manager:
        broker.spawn({"NOTIFY_SOCKET": str(manager.getsockname())})
        _messages_until(manager, b"READY=1")
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        broker.signal(signal.SIGHUP)
        reported = _messages_until(manager, b"MONOTONIC_USEC=")
        assert reported[-2] == b"RELOADING=1"
        began = int(reported[-1].partition(b"=")[2])
        assert before <= began <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        _messages_until(manager, b"READY=1")


@pytest.mark.parametrize("verb", ["bridge", "api", "upload"])
def test_the_processes_beside_the_broker_report_ready_and_alive(verb: str, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        path = str(tmp_path / "notify")
        manager.bind(path)
        manager.settimeout(0.1)
        process = subprocess.Popen(
            [*oncegate_command(), verb, "--data-dir", str(tmp_path / "data")],
            env={
                "PATH": "/usr/bin:/bin",
                "NOTIFY_SOCKET": path,
                "WATCHDOG_USEC": "4000000",
                "ONCEGATE_API_PORT": str(free_port()),
            },
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _messages_until(manager, b"READY=1")
            began = time.monotonic()
            for _ in range(3):
                _messages_until(manager, b"WATCHDOG=1")
            # At least two notifications within the 4 s that systemd waits, but not one per
            # iteration.
            assert 1.0 < time.monotonic() - began < 6.0
            process.send_signal(signal.SIGTERM)
            assert process.wait(STOP_DEADLINE_SECONDS) == 0
        finally:
            process.kill()
            process.wait()


async def test_sigterm_lets_a_client_that_was_connected_resume(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage()
    client = await stage.client("a", clean=False)
    assert await asyncio.to_thread(stage.broker.stop) == 0
    assert await client.expect_closed() == []
    await asyncio.to_thread(stage.broker.start)
    assert (await stage.client("a", clean=False)).session_present


async def test_sighup_reads_the_configuration_again_and_keeps_connections(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage("[mqtt]\nmax_packet_size = '1KiB'")
    connected = await stage.client("a")
    stage.broker.replace_in_configuration("1KiB", "64KiB")
    stage.broker.signal(signal.SIGHUP)
    await stage.eventually(
        lambda _: "max_packet_size" in stage.broker.standard_error(), "a line that names the key"
    )
    await connected.ping()
    later = await stage.client("b")
    await later.deliver(stage.topic("x"), bytes(10_000), qos=1)


async def test_a_mistake_in_the_configuration_at_a_reload_is_logged_and_changes_nothing(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage("[mqtt]\nmax_inflight = 7")
    stage.broker.replace_in_configuration("max_inflight", "max_inflght")
    stage.broker.signal(signal.SIGHUP)
    await stage.eventually(
        lambda _: "max_inflght" in stage.broker.standard_error(), "a line that names the key"
    )
    await (await stage.client("a")).ping()


def test_a_taken_port_ends_the_start_with_one_line_that_names_it(broker: BrokerProcess) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", broker.port))
        holder.listen()
        assert broker.second_start_exit_code() == 1
    broker.spawn()
    broker.kill()
