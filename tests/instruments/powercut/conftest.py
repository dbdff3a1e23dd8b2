"""A disk that can be cut and broken, and the real brokers on it."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.instruments.powercut.away import hold_messages
from tests.instruments.powercut.campaign import workplace
from tests.instruments.powercut.mounted_disk import MountedDisk, new_directory, why_not
from tests.instruments.powercut.subjects import SMALL_RESERVE, Oncegate
from tests.system.fixtures import pytest_runtest_makereport, running_broker
from tests.system.stage import Stage

__all__ = ["pytest_runtest_makereport"]


def _mounted_disk() -> Iterator[MountedDisk]:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    disk = MountedDisk(new_directory())
    try:
        yield disk
    finally:
        disk.remove()
        disk.forget()


@pytest.fixture
def disk() -> Iterator[MountedDisk]:
    """A disk that is not switched on yet."""
    yield from _mounted_disk()


@pytest.fixture
def bridge_disk() -> Iterator[MountedDisk]:
    """The bridge's own."""
    yield from _mounted_disk()


@pytest.fixture
def subject(disk: MountedDisk) -> Iterator[Oncegate]:
    """Broker and uploader with their data on the disk, not started yet."""
    subject = Oncegate(workplace(disk.directory))
    try:
        yield subject
    finally:
        subject.remove()


@pytest_asyncio.fixture
async def stage(disk: MountedDisk) -> AsyncIterator[Stage]:
    """A broker on the disk, whose subscriber is away and has messages waiting."""
    disk.switch_on()
    with running_broker(SMALL_RESERVE, data_directory=workplace(disk.directory)) as broker:
        async with Stage(broker, prefix="t") as stage:
            await hold_messages(stage)
            yield stage
