"""Fixtures: a disk that can be cut and broken, and the real brokers on it."""

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
    """Yield a disk that is not mounted yet."""
    yield from _mounted_disk()


@pytest.fixture
def bridge_disk() -> Iterator[MountedDisk]:
    """Yield a second disk, for the bridge."""
    yield from _mounted_disk()


@pytest.fixture
def subject(disk: MountedDisk) -> Iterator[Oncegate]:
    """Yield a broker and an uploader with their data on the disk, not started yet."""
    subject = Oncegate(workplace(disk.directory))
    try:
        yield subject
    finally:
        subject.remove()


@pytest_asyncio.fixture
async def stage(disk: MountedDisk) -> AsyncIterator[Stage]:
    """Yield a broker on the disk, with messages queued for a subscriber that is away."""
    disk.switch_on()
    with running_broker(SMALL_RESERVE, data_directory=workplace(disk.directory)) as broker:
        async with Stage(broker, prefix="t") as stage:
            await hold_messages(stage)
            yield stage
