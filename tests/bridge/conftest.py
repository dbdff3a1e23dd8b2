"""Fixtures of the bridge's tests."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.bridge.broker import Mosquitto, Subscriber


@pytest.fixture
async def mosquitto(tmp_path: Path) -> AsyncIterator[Mosquitto]:
    broker = Mosquitto(tmp_path)
    broker.start()
    try:
        await broker.wait_until_ready()
        yield broker
    finally:
        broker.stop()


@pytest.fixture
def subscriber(mosquitto: Mosquitto) -> Iterator[Subscriber]:
    found = Subscriber(mosquitto.port)
    yield found
    found.close()


@pytest.fixture
def captures() -> Path:
    """Return the directory with recordings of real devices, which lies next to the checkout."""
    folder = Path(__file__).resolve().parents[3] / "shared" / "captures"
    if not folder.is_dir():
        pytest.skip("the recordings of real devices are not beside this checkout")
    return folder
