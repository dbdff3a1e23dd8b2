"""The broker as a service: what systemd is told, and what its signals do."""

import asyncio
import signal
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from tests.system.broker_process import BrokerProcess
from tests.system.raw_client import DEADLINE_SECONDS
from tests.system.stage import Stage


@pytest.fixture
def broker() -> Iterator[BrokerProcess]:
    """A broker that the test starts itself."""
    broker = BrokerProcess("[mqtt]\nmax_inflight = 7")
    yield broker
    broker.remove()


def _messages_until(manager: socket.socket, wanted: bytes) -> list[bytes]:
    """What the service manager was told, up to the first message that begins like this."""
    told: list[bytes] = []
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not (told and told[-1].startswith(wanted)):
        assert time.monotonic() < deadline, f"expected {wanted!r} in {told}"
        try:
            told += manager.recv(4096).split(b"\n")
        except TimeoutError:
            continue
    return told


def test_systemd_is_told_ready_alive_and_stopping(broker: BrokerProcess) -> None:
    with broker.notify_socket() as manager:
        path = str(manager.getsockname())
        broker.spawn({"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "1000000"})
        _messages_until(manager, b"READY=1")
        began = time.monotonic()
        for _ in range(4):
            _messages_until(manager, b"WATCHDOG=1")
        # Fed at least twice in each interval of a second, as systemd recommends.
        assert time.monotonic() - began < 3.0
        broker.signal(signal.SIGTERM)
        _messages_until(manager, b"STOPPING=1")
    assert broker.stop() == 0


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
