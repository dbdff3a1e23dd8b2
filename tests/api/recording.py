"""A page with an hour of recorded history from the contract broker's sensors."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import sin
from pathlib import Path

from api.history.history import History, Reading
from tests.api import recorded
from tests.api.conftest import serving


async def write_hour(directory: Path, *, hours: float = 1.0) -> None:
    """Write a history of the recorded devices that ends now."""
    history = History(directory)
    await history.open()
    begin_ms = recorded.NOW_MS - int(3_600_000 * hours)
    for number, time_ms in enumerate(range(begin_ms, recorded.NOW_MS, 5000)):
        wave = sin(number / 40)
        history.add(
            time_ms,
            [
                reading("sensors/board-0000002a/temperature", "Cel", time_ms, 21.5 + 2 * wave),
                reading("sensors/board-0000002a/relative_humidity", "%RH", time_ms, 48 - 5 * wave),
                reading("sensors/board-0000002a/pressure", "Pa", time_ms, 101_325 + 30 * wave),
                reading("gateway/messages_in", "1/s", time_ms, 8 + wave),
                reading("gateway/disk_free", "B", time_ms, 9e9 - 1e5 * number),
            ],
        )
        await history.save()
    await history.close()


def reading(name: str, unit: str, time_ms: int, value: float) -> Reading:
    return Reading(name, unit, time_ms, 1, value - 0.2, value, value + 0.2, value)


@asynccontextmanager
async def recorded_page(status_socket: Path, directory: Path) -> AsyncIterator[str]:
    """Run a page with an hour of history and yield its URL."""
    await write_hour(directory)
    async with serving(status_socket, history_dir=directory) as url:
        yield url
