"""The time from a reading's last byte to PUBCOMP, with the rows of batches."""

import asyncio
import time

from firmware_bridge.outbox.arrivals import Batch
from firmware_bridge.outbox.boards import BoardRows
from firmware_bridge.outbox.delivery_times import BATCHES_MAX, DeliveryTimes
from firmware_bridge.readings.publications import Publication

from gateway.process.mqtt_client.exchanges import Exchange

READING = Publication("sensors/a/b", b"1")


async def batch_of(count: int, *, seconds_ago: float) -> Batch:
    durable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    began = time.monotonic() - seconds_ago
    return Batch([READING] * count, BoardRows([], [], []), 0, 0, durable, began)


def completed(*numbers: int) -> list[Exchange[Publication]]:
    return [Exchange(number, 1, READING) for number in numbers]


async def mean_of(*numbers: int) -> float | None:
    """Return the mean time for these rows, with rows 11 and 12 accepted a minute ago and row 13 a
    second ago."""
    times = DeliveryTimes()
    batches = [await batch_of(2, seconds_ago=60.0), await batch_of(1, seconds_ago=1.0)]
    times.committed(batches, 13)
    times.completed(completed(*numbers))
    return times._steps.latest_mean(time.time() + 5.0)  # The step has ended by then.


async def test_a_reading_has_the_time_of_its_batch() -> None:
    for numbers, low in (((11,), 60.0), ((12,), 60.0), ((13,), 1.0), ((11, 13), 30.5)):
        mean = await mean_of(*numbers)
        assert mean is not None
        assert low <= mean < low + 1.0


async def test_a_reading_of_an_earlier_run_has_none() -> None:
    assert await mean_of(10) is None
    assert await mean_of() is None


async def test_a_long_backlog_is_bounded() -> None:
    times = DeliveryTimes()
    batch = await batch_of(1, seconds_ago=0.0)
    for number in range(BATCHES_MAX + 10):
        times.committed([batch], number)
    assert len(times._batches) == BATCHES_MAX
    times.completed(completed(BATCHES_MAX + 5))
    assert not times._batches
