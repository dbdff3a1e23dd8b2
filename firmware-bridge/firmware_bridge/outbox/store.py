"""The outbox's database: readings, data types of quantities, and accepted frames of boards."""

from collections.abc import Iterable
from dataclasses import dataclass

from firmware_bridge.outbox.boards import BoardRows
from firmware_bridge.outbox.formats import COLUMNS, MIGRATION_SET, MIGRATIONS_KNOWN
from firmware_bridge.readings.kinds import KINDS, KINDS_KEPT_MAX, Kind
from firmware_bridge.readings.publications import ROW_OVERHEAD_BYTES, Publication
from gateway.process.durable_queue.table import QueueTable, TableDatabase

# Maximum number of kinds that are loaded for a port when the bridge starts: the newest. Noise on a
# line may look like new names, so half of a decoder's memory stays free for later names.
KINDS_REMEMBERED_MAX = KINDS_KEPT_MAX // 2
# Maximum number of rows for all ports: 16 ports with that many quantities, about 1 MB.
KINDS_STORED_MAX = 16 * KINDS_REMEMBERED_MAX


@dataclass(frozen=True, slots=True)
class Removable:
    """A reading on disk that a full outbox may drop."""

    number: int
    port: str
    bytes_count: int
    arrived: int


class Readings(QueueTable[Publication]):
    """The table of readings that the broker has not acknowledged with PUBCOMP yet."""

    message_type = Publication
    columns = ("topic", "payload", "retain", "gives_way_of")
    columns_of_batch = ("arrived",)
    bytes_of_row = f"LENGTH(topic) + LENGTH(payload) + {ROW_OVERHEAD_BYTES}"

    def restore(self, number: int, publication: Publication) -> bool:
        """Store a reading recovered from a damaged outbox. Return False if its number is in use."""
        inserted = self._connection.execute(
            "INSERT OR IGNORE INTO readings (number, topic, payload, retain) VALUES (?, ?, ?, ?)",
            (number, publication.topic, publication.payload, publication.retain),
        )
        return inserted.rowcount == 1

    def last_arrived(self) -> int:
        """Return the arrival time of the newest reading, in seconds of the outbox's clock.

        Return 0 if the outbox has no readings.
        """
        row = self._connection.execute(
            "SELECT arrived FROM readings ORDER BY number DESC LIMIT 1"
        ).fetchone()
        return 0 if row is None else int(row[0])

    def arrival_after(self, number: int) -> int | None:
        """Return the arrival time of the oldest unpublished reading in the rows after `number`.

        The time is in seconds of the outbox's clock (`ageing.py`). Return None if there is no such
        reading.
        """
        row = self._connection.execute(
            "SELECT arrived FROM readings WHERE number > ? AND packet_id IS NULL "
            "ORDER BY number LIMIT 1",
            (number,),
        ).fetchone()
        return None if row is None else int(row[0])

    def removable_after(self, number: int, limit: int) -> list[Removable]:
        """Return the readings that can be dropped, oldest first, from the rows after `number`.

        At most `limit` readings are returned. A reading cannot be dropped once its publication has
        begun.
        """
        rows = self._connection.execute(
            f"SELECT number, gives_way_of, {self.bytes_of_row}, arrived "
            "FROM readings WHERE number > ? AND gives_way_of IS NOT NULL AND packet_id IS NULL "
            "ORDER BY number LIMIT ?",
            (number, limit),
        )
        return [Removable(*row) for row in rows]

    def removable_bytes_after(self, number: int, port: str) -> int:
        """Return the total size in bytes of a port's readings that can still be dropped.

        Only rows after `number` are included. A reading cannot be dropped once its publication has
        begun.
        """
        row = self._connection.execute(
            f"SELECT SUM({self.bytes_of_row}) FROM readings "
            "WHERE number > ? AND gives_way_of = ? AND packet_id IS NULL",
            (number, port),
        ).fetchone()
        return row[0] or 0

    def drop(self, dropped: Iterable[Removable]) -> None:
        """Delete the readings in `dropped`, except those whose publication has begun."""
        self._connection.executemany(
            "DELETE FROM readings WHERE number = ? AND packet_id IS NULL",
            [(each.number,) for each in dropped],
        )


class OutboxStore(TableDatabase):
    """The database of the outbox in the file `path`.

    The methods raise the exceptions that the base class `QueueDatabase` describes.
    """

    migration_set = MIGRATION_SET
    migrations_known = MIGRATIONS_KNOWN
    columns_of = COLUMNS

    def _migrate(self) -> None:
        from firmware_bridge.outbox.schema import migrate  # noqa: PLC0415 - see there

        migrate(self._connection)

    def _load(self) -> None:
        self.readings = Readings(self._connection, "readings")
        self.queue_tables = (self.readings,)

    def kinds_of(self, port: str, framing: str) -> dict[str, Kind]:
        """Return the stored data types of a port's quantities, keyed by quantity name.

        A type is number, text or boolean. `framing` is the name of the port's protocol. If too many
        quantities are stored, only the newest are returned.
        """
        rows = self._connection.execute(
            "SELECT name, kind FROM kinds WHERE port = ? AND framing = ? "
            "ORDER BY number DESC LIMIT ?",
            (port, framing, KINDS_REMEMBERED_MAX),
        )
        return {name: kind for name, kind in rows if kind in KINDS}

    def save_kinds(self, kinds: Iterable[tuple[str, str, str, Kind]]) -> None:
        """Store the data types of quantities, as tuples of port, protocol, name and type.

        If the table then has too many rows, the oldest rows are deleted.
        """
        self._connection.executemany(
            "INSERT OR REPLACE INTO kinds (port, framing, name, kind) VALUES (?, ?, ?, ?)", kinds
        )
        self._connection.execute(
            "DELETE FROM kinds WHERE number <= (SELECT MAX(number) FROM kinds) - ?",
            (KINDS_STORED_MAX,),
        )

    def boards(self) -> BoardRows:
        """Load all rows about boards. The rows about frames are sorted by their latest use."""
        execute = self._connection.execute
        return BoardRows(
            blocks=[
                ((device, boot, repeat), block, digests, used)
                for device, boot, repeat, block, digests, used in execute(
                    "SELECT device, boot, repeat, block, digests, used FROM board_frames "
                    "ORDER BY used"
                )
            ],
            counts=[
                ((device, boot), starts)
                for device, boot, starts in execute(
                    "SELECT device, boot, starts FROM board_starts ORDER BY rowid"
                )
            ],
            floors=[
                (device, (boot, starts))
                for device, boot, starts in execute("SELECT device, boot, starts FROM board_floors")
            ],
        )

    def save_boards(self, changes: BoardRows) -> None:
        """Store the changed rows about boards, and delete the rows that were removed."""
        execute_many = self._connection.executemany
        execute_many(
            "DELETE FROM board_frames WHERE device = ? AND boot = ? AND repeat = ? AND block = ?",
            [(*key, block) for key, block in changes.removed_blocks],
        )
        execute_many(
            "INSERT INTO board_frames (device, boot, repeat, block, digests, used) "
            "VALUES (?, ?, ?, ?, ?, ?) "
            # Replacing a row would move it and its index entry to other disk pages.
            "ON CONFLICT DO UPDATE SET digests = excluded.digests, used = excluded.used",
            [(*key, block, digests, used) for key, block, digests, used in changes.blocks],
        )
        execute_many(
            "INSERT INTO board_starts (device, boot, starts) VALUES (?, ?, ?) "
            "ON CONFLICT DO UPDATE SET starts = excluded.starts",
            [(*key, starts) for key, starts in changes.counts],
        )
        execute_many(
            "DELETE FROM board_starts WHERE device = ? AND boot = ?", changes.removed_counts
        )
        execute_many(
            "INSERT OR REPLACE INTO board_floors (device, boot, starts) VALUES (?, ?, ?)",
            [(device, *floor) for device, floor in changes.floors],
        )
