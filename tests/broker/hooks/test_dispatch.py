"""An operator's module observes a real broker, which continues whatever the module does."""

import asyncio
import importlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from gateway.broker.hooks.dispatch import WAITING_BYTES_MAX, WAITING_EVENTS_MAX, Hooks
from gateway.broker.wire.packets import (
    Connack,
    Disconnect,
    Pingreq,
    Pingresp,
    Publish,
    Suback,
    Subscribe,
    Subscription,
)
from tests.broker.core.harness import Harness
from tests.broker.server.broker import Broker, running
from tests.peers.connection import DEADLINE_SECONDS
from tests.peers.packet_client import PacketClient

NAME = "hook_of_this_test"

LISTENING = """
from queue import SimpleQueue

reported = SimpleQueue()

class Watch:
    def __getattr__(self, method):
        return lambda event: reported.put((method, event))

observer = Watch()
"""

FAILING = """
from gateway.hooks import Observer
from queue import SimpleQueue

reported = SimpleQueue()

class Watch(Observer):
    def connected(self, event):
        raise SystemExit("no\\nmore")

    def subscribed(self, event):
        raise StopIteration

    def disconnected(self, event):
        reported.put("still here")

observer = Watch()
"""

HANGING = """
from threading import Event

begun, free = Event(), Event()

class Watch:
    def connected(self, event):
        begun.set()
        assert free.wait(60)

    def published(self, event):
        pass

observer = Watch()
"""

Load = Callable[[str], Awaitable[Broker]]


@pytest_asyncio.fixture
async def hooked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Load]:
    """Yield a function that starts a broker with a hook, whose program is its argument."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    interval = sys.getswitchinterval()

    async def begin(program: str) -> Broker:
        (tmp_path / f"{NAME}.py").write_text(program)
        importlib.invalidate_caches()
        manager = asynccontextmanager(running)
        plain = [{"protocol": "mqtt"}]
        return await exits.enter_async_context(manager(tmp_path / "data", plain, {}, hook=NAME))

    try:
        async with AsyncExitStack() as exits:
            yield begin
    finally:
        sys.modules.pop(NAME, None)
        sys.setswitchinterval(interval)


async def client_of(broker: Broker, client_id: str) -> PacketClient:
    client = await PacketClient.open(broker.listeners[0]["port"])
    client.connect(None, method=None, client_id=client_id)
    assert isinstance(await client.receive(), Connack)
    return client


async def ping(client: PacketClient) -> None:
    client.send(Pingreq())
    assert isinstance(await client.receive(), Pingresp)


def module() -> Any:
    """Return the module as the broker imported it; wait while the broker's thread imports it."""
    return importlib.import_module(NAME)


async def reported(queue: Any) -> Any:
    return await asyncio.to_thread(queue.get, True, DEADLINE_SECONDS)


def hooks_of(broker: Broker) -> Hooks:
    hooks = broker.running.event_loop.hooks
    assert hooks is not None
    return hooks


async def test_a_module_receives_in_order_what_happens(hooked: Load) -> None:
    broker = await hooked(LISTENING)
    async with await client_of(broker, "c") as client:
        client.send(Subscribe(1, [Subscription("a/+", 1)]))
        assert isinstance(await client.receive(), Suback)
        client.send(Publish("a/b", b"21", 0, False, False, 0))
        assert isinstance(await client.receive(), Publish)
        client.send(Disconnect())
        assert await client.receive() is None
        heard = [await reported(module().reported) for _ in range(5)]
    assert [method for method, _ in heard] == [
        "connected",
        "subscribed",
        "published",
        "delivered",
        "disconnected",
    ]
    assert {event.client_id for _, event in heard} == {"c"}
    assert heard[2][1].payload == b"21"
    await broker.eventually(lambda: hooks_of(broker).waiting() == 0)
    status = broker.status()["hooks"]
    assert status == {
        "module": NAME,
        "told": 5,
        "waiting": 0,
        "lost": 0,
        "failed": 0,
        "problem": None,
    }


async def test_a_hook_that_raises_anything_is_counted_and_goes_on(
    hooked: Load, caplog: pytest.LogCaptureFixture
) -> None:
    broker = await hooked(FAILING)
    async with await client_of(broker, "c") as client:
        client.send(Subscribe(1, [Subscription("a", 0), Subscription("b", 0)]))
        assert isinstance(await client.receive(), Suback)
        client.send(Disconnect())
        assert await client.receive() is None
        assert await reported(module().reported) == "still here"
    assert hooks_of(broker).failed == 3
    lines = [record.getMessage() for record in caplog.records if "failed at" in record.message]
    assert len(lines) == 1  # the 2nd and 3rd failure are only counted
    assert "connected, 1 times so far: SystemExit: no more in " in lines[0]
    assert f"{NAME}.py line 9" in lines[0]
    assert any("failed 3 times" in line for line in broker.warnings())


async def test_a_hook_that_hangs_loses_events_and_the_broker_does_not_wait(hooked: Load) -> None:
    broker = await hooked(HANGING)
    async with await client_of(broker, "c") as client:
        try:
            assert await asyncio.to_thread(module().begun.wait, DEADLINE_SECONDS)
            count = WAITING_EVENTS_MAX + 500
            for _ in range(count):
                client.send(Publish("t", b"", 0, False, False, 0))
            await ping(client)
            hooks = hooks_of(broker)
            assert hooks.waiting() == WAITING_EVENTS_MAX
            assert hooks.lost == count + 1 - WAITING_EVENTS_MAX
            assert any("too slow" in line for line in broker.warnings())
            await hooks.stop()  # returns after STOP_SECONDS, although the hook still hangs
            assert hooks.waiting() == WAITING_EVENTS_MAX
        finally:
            module().free.set()


async def test_payloads_that_wait_for_a_hook_are_bounded_in_bytes(hooked: Load) -> None:
    broker = await hooked(HANGING)
    async with await client_of(broker, "c") as client:
        try:
            assert await asyncio.to_thread(module().begun.wait, DEADLINE_SECONDS)
            payload = bytes(1 << 20)
            for _ in range(20):
                client.send(Publish("t", payload, 0, False, False, 0))
            await ping(client)
            fitting = WAITING_BYTES_MAX // len(payload) - 1  # an event has overhead
            assert hooks_of(broker).waiting() == 1 + fitting
            assert hooks_of(broker).lost == 20 - fitting
        finally:
            module().free.set()


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("import no_such_module_anywhere", "ModuleNotFoundError: No module named 'no_such_"),
        ("observer = (", "SyntaxError: "),
        ("raise SystemExit(3)", "SystemExit: 3 in "),
        ("x = 1", "no `observer`; add observer = "),
        ("observer = 1", "none of the methods connected, "),
    ],
)
async def test_without_its_hook_the_broker_runs_and_states_why(
    hooked: Load, program: str, problem: str
) -> None:
    broker = await hooked(program)
    hooks = hooks_of(broker)
    await broker.eventually(lambda: hooks.problem is not None)
    async with await client_of(broker, "c") as client:
        await ping(client)
    assert hooks.problem is not None
    assert hooks.problem.startswith(f'[hooks] module = "{NAME}": ')
    assert problem in hooks.problem
    assert "\n" not in hooks.problem
    assert broker.running.event_loop.broker.statistics.observe is None
    (warning,) = broker.warnings()
    assert warning.startswith(f"The hook is not running: {hooks.problem}.")


async def test_without_a_module_nothing_is_observed(tmp_path: Path) -> None:
    async with asynccontextmanager(running)(tmp_path, [{"protocol": "mqtt"}], {}) as broker:
        assert broker.running.event_loop.broker.statistics.observe is None
        assert broker.status()["hooks"] is None


async def test_only_what_is_durable_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{NAME}.py").write_text(LISTENING)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    harness = Harness(tmp_path / "data")
    harness.commit()
    interval = sys.getswitchinterval()
    hooks = Hooks(NAME, harness.broker)
    hooks.start()
    try:
        writer = harness.connect("writer")
        hooks.release()
        writer.send(Publish("before the cut", b"", 1, False, False, 1))
        harness.commit()
        hooks.release()
        writer.send(Publish("cut", b"", 1, False, False, 2))
        hooks.release()
        await hooks.stop()
        queue = module().reported
        heard = [queue.get_nowait() for _ in range(queue.qsize())]
        topics = [event.topic for method, event in heard if method == "published"]
        assert topics == ["before the cut"]
    finally:
        harness.close()
        sys.modules.pop(NAME, None)
        sys.setswitchinterval(interval)
