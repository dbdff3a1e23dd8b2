"""Fixtures of all black-box tests: brokers that never outlive their test, and their clients."""

import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.system.broker_process import BrokerProcess
from tests.system.session_log import Uploader
from tests.system.stage import Stage
from tests.system.whole_gateway import WholeGateway

_numbers = itertools.count(1)
# A failed test needs only the last few dozen lines of a broker's output.
REPORTED_CHARACTERS = 4000
_running: list[BrokerProcess] = []
_gateways: list[WholeGateway] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Add the output of all running brokers to the report of a failed test."""
    report = yield
    if report is not None and report.failed:
        for broker in _running:
            tail = broker.standard_error()[-REPORTED_CHARACTERS:]
            report.sections.append((f"broker on port {broker.port}", tail))
        for gateway in _gateways:
            tail = gateway.output()[-REPORTED_CHARACTERS:]
            report.sections.append(("oncegate up", tail))
    return report


@contextlib.contextmanager
def running_broker(
    settings: str | None = None,
    *,
    listener_settings: str = "",
    data_directory: Path | None = None,
) -> Iterator[BrokerProcess]:
    """Run a broker until the block ends.

    Asserts that it stops with exit code 0 and has logged no traceback.
    """
    broker = BrokerProcess(
        settings, listener_settings=listener_settings, data_directory=data_directory
    )
    _running.append(broker)
    try:
        broker.start()
        yield broker
        if broker.is_running:
            assert broker.stop() == 0, broker.standard_error()
        assert "Traceback" not in broker.standard_error(), broker.standard_error()
    finally:
        _running.remove(broker)
        broker.remove()


@pytest.fixture(scope="session")
def shared_broker() -> Iterator[BrokerProcess]:
    """Return one broker for all tests that neither stop nor configure it."""
    with running_broker() as broker:
        yield broker


@pytest_asyncio.fixture
async def stage(shared_broker: BrokerProcess) -> AsyncIterator[Stage]:
    """Return a stage on the shared broker, with names that only this test uses."""
    async with Stage(shared_broker, prefix=f"t{next(_numbers)}") as stage:
        yield stage
    assert shared_broker.is_running, "the broker ended during the test"
    assert "Traceback" not in shared_broker.standard_error(), shared_broker.standard_error()


@pytest_asyncio.fixture
async def new_stage() -> AsyncIterator[Callable[..., Stage]]:
    """Return a function that starts brokers for this test only, with its own settings.

    The test may restart and kill them.
    """
    async with contextlib.AsyncExitStack() as exits:

        def start(settings: str | None = None, *, listener_settings: str = "") -> Stage:
            broker = exits.enter_context(
                running_broker(settings, listener_settings=listener_settings)
            )
            stage = Stage(broker, prefix=f"t{next(_numbers)}")
            exits.push_async_callback(stage.close)
            return stage

        yield start


@pytest.fixture
def gateway() -> Iterator[WholeGateway]:
    """Return a gateway that the test starts. Processes and files are removed after the test."""
    gateway = WholeGateway()
    _gateways.append(gateway)
    try:
        yield gateway
    finally:
        _gateways.remove(gateway)
        gateway.remove()


@pytest.fixture
def new_uploader() -> Iterator[Callable[[Stage], Uploader]]:
    """Return a function that starts uploaders, which delete events from the journal after they have
    sealed them."""
    uploaders: list[Uploader] = []

    def start(stage: Stage) -> Uploader:
        uploaders.append(Uploader(stage.broker.data_directory))
        uploaders[-1].start()
        return uploaders[-1]

    yield start
    for uploader in uploaders:
        uploader.kill()
