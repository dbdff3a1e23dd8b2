"""A record of everything that was published: a persistent subscriber that is absent during the run.

It subscribes before the gateway starts, and receives its messages after the gateway has stopped,
from a broker that runs alone on the gateway's data. So it counts what the broker accepted without
taking part in the run.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.system.fixtures import running_broker
from tests.system.stage import Stage


@dataclass(frozen=True)
class Reading:
    """One payload as defined in docs/formats/readings.md."""

    topic: str
    records: list[dict[str, Any]]

    @property
    def identity(self) -> tuple[str, int, int, str]:
        """The values that identify a payload: device, boot, sequence and quantity."""
        first = self.records[0]
        return first["device"], first["boot"], first["sequence"], self.topic.split("/")[2]


async def begin_ledger(data_directory: Path) -> None:
    """Subscribe to all readings that will be published on this data directory."""
    with running_broker(data_directory=data_directory) as broker:
        async with Stage(broker, prefix="ledger") as stage:
            client = await stage.client("", clean=False)
            await client.subscribe(("sensors/#", 2))
            await client.disconnect()


async def readings_of_ledger(data_directory: Path) -> list[Reading]:
    """Return every reading published since `begin_ledger`, in order for each topic."""
    return [reading async for reading in _collected(data_directory)]


async def _collected(data_directory: Path) -> AsyncIterator[Reading]:
    with running_broker(data_directory=data_directory) as broker:
        async with Stage(broker, prefix="ledger") as stage:
            await stage.deliver("sensors/end/end", b"[]")
            client = await stage.client("", clean=False)
            assert client.session_present
            while (message := await client.take()).topic != "sensors/end/end":
                yield Reading(message.topic, json.loads(message.payload))
            await client.ping()
