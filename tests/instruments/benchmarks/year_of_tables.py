"""The tables of a quiet gateway after a year: outbox.db, broker.db and its journal.

The real core and store write the broker's tables under a simulated clock, one hour per step. A
reading is published each minute. A dashboard is always connected, an archive is away one day per
week, and each hour a new phone leaves a session that expires after a day.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

from firmware_bridge.outbox.store import OutboxStore
from firmware_bridge.readings.publications import Publication

from gateway.broker.wire.packets import Properties, Puback, Publish
from gateway.process.mqtt_client.exchanges import Exchange
from tests.broker.core.harness import Client, Harness, publishes

HOURS: Final = 8_760
HOUR_SECONDS: Final = 3_600.0
DAY_HOURS, WEEK_HOURS = 24, 168
TOPICS: Final = 20
MINUTES_OF_A_YEAR, READINGS_PER_COMMIT = 525_600, 60
FILTER: Final = "sensors/#"


def outbox_year() -> dict[str, Any]:
    """Insert a reading per minute into the bridge's outbox and remove it.

    Return counts and sizes.
    """
    folder = Path(tempfile.mkdtemp(prefix="oncegate-year-"))
    try:
        store, number, largest = OutboxStore(folder / "outbox.db"), 0, 0
        while number < MINUTES_OF_A_YEAR:
            readings = [
                Publication("sensors/board-0000002a/temperature", b'[{"n":"t","v":21.5}]')
                for _ in range(READINGS_PER_COMMIT)
            ]
            exchanges = [
                Exchange(number + index, index, reading)
                for index, reading in enumerate(readings, 1)
            ]
            store.begin()
            store.readings.insert(readings)
            store.readings.start(exchanges)
            store.commit()
            store.begin()
            store.readings.remove(each.number for each in exchanges)
            store.commit()
            number += len(readings)
            largest = max(largest, sum(path.stat().st_size for path in folder.iterdir()))
        rows, _ = store.readings.totals()
        store.close()
        return {"readings": number, "rows": rows, "bytes_max": largest}
    finally:
        shutil.rmtree(folder)


def broker_year(hours: int = HOURS) -> dict[str, Any]:
    """Simulate the hours.

    Return the largest size of each file in bytes, and the remaining counts.
    """
    folder = Path(tempfile.mkdtemp(prefix="oncegate-year-"))
    try:
        return _Year(Harness(folder)).run(hours)
    finally:
        shutil.rmtree(folder)


class _Year:
    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.publisher = harness.connect("bridge")
        self.dashboard = harness.subscriber("dashboard", FILTER, 1)
        self.archive: Client | None = harness.subscriber("archive", FILTER, 1)
        self.archived = 0
        self.bytes_max = {"tables": 0, "journal": 0}

    def run(self, hours: int) -> dict[str, Any]:
        for hour in range(hours):
            self._publish(hour)
            self._phone(hour)
            self._archive(hour)
            self._acknowledge()
            self._end_hour()
        harness = self.harness
        sessions = len(harness.broker.state.sessions)
        harness.close()
        return {
            "readings": 60 * hours,
            "archived": self.archived,
            "sessions": sessions,
            **{f"{name}_bytes_max": size for name, size in self.bytes_max.items()},
        }

    def _publish(self, hour: int) -> None:
        for minute in range(60):
            topic = f"sensors/board-0000002a/quantity-{minute % TOPICS}"
            payload = b'[{"n":"t","v":21.5,"t":%d}]' % (60 * hour + minute)
            self.publisher.send(Publish(topic, payload, 1, True, False, minute + 1))
        self.harness.commit()

    def _phone(self, hour: int) -> None:
        expiry = Properties()
        expiry.session_expiry_interval_seconds = DAY_HOURS * 3_600
        phone = self.harness.connect(f"phone-{hour}", version=5, properties=expiry)
        self._leave(phone)

    def _archive(self, hour: int) -> None:
        """Disconnect the archive for the first day of each week."""
        if hour % WEEK_HOURS == 0 and self.archive is not None:
            self._leave(self.archive)
            self.archive = None
        elif hour % WEEK_HOURS == DAY_HOURS:
            self.archive = self.harness.connect("archive")

    def _leave(self, client: Client) -> None:
        self.harness.lose(client)
        del self.harness.clients[client.connection]

    def _acknowledge(self) -> None:
        waiting = True
        while waiting:
            waiting = False
            for client in (self.dashboard, self.archive):
                received = [] if client is None else publishes(client.take())
                if client is not None and received:
                    waiting = True
                    self.archived += len(received) if client is self.archive else 0
                    client.send(*(Puback(each.packet_id) for each in received))
            self.publisher.take()
            self.harness.commit()

    def _end_hour(self) -> None:
        """Checkpoint, and drop the exported part of the journal, as if the uploader had run."""
        harness = self.harness
        harness.advance(HOUR_SECONDS)
        harness.checkpoint()
        harness.store.exported_sequence = harness.broker.batch.next_sequence - 1
        while harness.store.has_droppable():
            harness.store.drop_exported()
        harness.blobs.clear()
        folder = harness.data_dir
        for name, pattern in (("tables", "broker.db*"), ("journal", "journal/*")):
            size = sum(path.stat().st_size for path in folder.glob(pattern))
            self.bytes_max[name] = max(self.bytes_max[name], size)
