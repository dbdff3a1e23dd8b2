"""The outbox on disk, one narrow interface: its statements beside those of every queue."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from firmware_bridge.outbox.boards import BoardRows
from firmware_bridge.outbox.formats import MIGRATION_SET, MIGRATIONS_KNOWN
from firmware_bridge.readings.kinds import KINDS, KINDS_KEPT_MAX, Kind
from firmware_bridge.readings.publications import Publication
from gateway.process.files.queue_database import QueueDatabase
from gateway.process.mqtt_client.exchanges import Exchange

# What a row costs beside its topic and payload, for the limit in bytes.
ROW_OVERHEAD_BYTES = 48

# Quantities of a port whose kinds a start loads, at most: the newest. A line of noise makes up
# names, and half of a decoder's memory stays free for those that come after the start.
KINDS_REMEMBERED_MAX = KINDS_KEPT_MAX // 2
# Rows for all ports, at most: 16 ports with as many quantities, about 1 MB.
KINDS_STORED_MAX = 16 * KINDS_REMEMBERED_MAX


def bytes_of(publication: Publication) -> int:
    """Return the bytes that a reading counts towards `outbox_bytes_max`."""
    return len(publication.topic) + len(publication.payload) + ROW_OVERHEAD_BYTES


@dataclass(frozen=True, slots=True)
class Removable:
    """A reading on disk that a full outbox may drop."""

    number: int
    port: str
    bytes_count: int
    arrived: int


class OutboxStore(QueueDatabase):
    """The file at `path`: see `QueueDatabase` for what it raises."""

    migration_set = MIGRATION_SET
    migrations_known = MIGRATIONS_KNOWN

    def _migrate(self) -> None:
        from firmware_bridge.outbox.schema import migrate  # noqa: PLC0415 - see there

        migrate(self._connection)

    def _load(self) -> None:
        rows = self._connection.execute(
            "SELECT COUNT(*), MAX(number), SUM(LENGTH(topic) + LENGTH(payload) + ?), MAX(arrived) "
            "FROM readings",
            (ROW_OVERHEAD_BYTES,),
        ).fetchone()
        self.count: int = rows[0]
        self.last_number: int = rows[1] or 0
        self.bytes: int = rows[2] or 0
        self.last_arrived: int = rows[3] or 0
        self._last_committed = self.last_number

    def begin(self) -> None:
        """Begin a transaction."""
        self._last_committed = self.last_number
        super().begin()

    def roll_back(self) -> None:
        """End the transaction; nothing since `begin` is stored."""
        super().roll_back()
        self.last_number = self._last_committed

    def insert(self, publications: Sequence[Publication], arrived: int = 0) -> None:
        """Append readings, numbered in their order."""
        first = self.last_number + 1
        self._connection.executemany(
            "INSERT INTO readings (number, topic, payload, retain, arrived, gives_way_of) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [
                (number, each.topic, each.payload, each.retain, arrived, each.gives_way_of)
                for number, each in enumerate(publications, first)
            ],
        )
        self.last_number += len(publications)

    def restore(self, number: int, publication: Publication) -> bool:
        """Store a reading of a damaged outbox under its number; return False if that is taken."""
        inserted = self._connection.execute(
            "INSERT OR IGNORE INTO readings (number, topic, payload, retain) VALUES (?, ?, ?, ?)",
            (number, publication.topic, publication.payload, publication.retain),
        )
        return inserted.rowcount == 1

    def start(self, exchanges: Iterable[Exchange[Publication]]) -> None:
        """Note the packet identifiers of exchanges that begin."""
        self._connection.executemany(
            "UPDATE readings SET packet_id = ? WHERE number = ?",
            [(exchange.packet_id, exchange.number) for exchange in exchanges],
        )

    def release(self, exchanges: Iterable[Exchange[Publication]]) -> None:
        """Note that PUBREC has come."""
        self._connection.executemany(
            "UPDATE readings SET released = 1 WHERE number = ?",
            [(exchange.number,) for exchange in exchanges],
        )

    def return_to_queue(self, exchanges: Iterable[Exchange[Publication]]) -> None:
        """Queue readings again, without a packet identifier."""
        self._connection.executemany(
            "UPDATE readings SET packet_id = NULL, released = 0 WHERE number = ?",
            [(exchange.number,) for exchange in exchanges],
        )

    def remove(self, exchanges: Iterable[Exchange[Publication]]) -> None:
        """Forget readings whose PUBCOMP has come."""
        self._connection.executemany(
            "DELETE FROM readings WHERE number = ?",
            [(exchange.number,) for exchange in exchanges],
        )

    def waiting_after(self, number: int, limit: int) -> list[tuple[int, Publication]]:
        """Return the next readings in order of arrival, with their numbers."""
        rows = self._connection.execute(
            "SELECT number, topic, payload, retain, gives_way_of FROM readings WHERE number > ? "
            "ORDER BY number LIMIT ?",
            (number, limit),
        )
        return [
            (number, Publication(topic, payload, retain=bool(retain), gives_way_of=port))
            for number, topic, payload, retain, port in rows
        ]

    def arrival_after(self, number: int) -> int | None:
        """Return when the next reading in order of arrival came; None: there is none."""
        row = self._connection.execute(
            "SELECT arrived FROM readings WHERE number > ? ORDER BY number LIMIT 1", (number,)
        ).fetchone()
        return None if row is None else int(row[0])

    def removable_after(self, number: int, limit: int) -> list[Removable]:
        """Return the next readings that give way to others, in order of arrival."""
        rows = self._connection.execute(
            "SELECT number, gives_way_of, LENGTH(topic) + LENGTH(payload) + ?, arrived "
            "FROM readings WHERE number > ? AND gives_way_of IS NOT NULL ORDER BY number LIMIT ?",
            (ROW_OVERHEAD_BYTES, number, limit),
        )
        return [Removable(*row) for row in rows]

    def removable_bytes_after(self, number: int, port: str) -> int:
        """Return the bytes of those of one port."""
        row = self._connection.execute(
            "SELECT SUM(LENGTH(topic) + LENGTH(payload) + ?) FROM readings "
            "WHERE number > ? AND gives_way_of = ?",
            (ROW_OVERHEAD_BYTES, number, port),
        ).fetchone()
        return row[0] or 0

    def drop(self, dropped: Iterable[Removable]) -> None:
        """Forget readings that were never published."""
        self._connection.executemany(
            "DELETE FROM readings WHERE number = ? AND packet_id IS NULL",
            [(each.number,) for each in dropped],
        )

    def in_flight(self) -> Iterator[Exchange[Publication]]:
        """Yield the exchanges that the last run began: the oldest rows, see `exchanges.py`."""
        rows = self._connection.execute(
            "SELECT number, packet_id, topic, payload, retain, released, gives_way_of "
            "FROM readings ORDER BY number"
        )
        for number, packet_id, topic, payload, retain, released, port in rows:
            if packet_id is None:
                return
            publication = Publication(topic, payload, retain=bool(retain), gives_way_of=port)
            yield Exchange(number, packet_id, publication, bool(released))

    def kinds_of(self, port: str, framing: str) -> dict[str, Kind]:
        """Return the kinds of a port's quantities, by name: those that were noted last."""
        rows = self._connection.execute(
            "SELECT name, kind FROM kinds WHERE port = ? AND framing = ? "
            "ORDER BY number DESC LIMIT ?",
            (port, framing, KINDS_REMEMBERED_MAX),
        )
        return {name: kind for name, kind in rows if kind in KINDS}

    def save_kinds(self, kinds: Iterable[tuple[str, str, str, Kind]]) -> None:
        """Store port, framing, name and kind of quantities. The oldest rows make room for them."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO kinds (port, framing, name, kind) VALUES (?, ?, ?, ?)", kinds
        )
        self._connection.execute(
            "DELETE FROM kinds WHERE number <= (SELECT MAX(number) FROM kinds) - ?",
            (KINDS_STORED_MAX,),
        )

    def boards(self) -> BoardRows:
        """Load all of them, in their order of use."""
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
        """Write what has changed of boards."""
        execute_many = self._connection.executemany
        execute_many(
            "DELETE FROM board_frames WHERE device = ? AND boot = ? AND repeat = ? AND block = ?",
            [(*key, block) for key, block in changes.removed_blocks],
        )
        execute_many(
            "INSERT INTO board_frames (device, boot, repeat, block, digests, used) "
            "VALUES (?, ?, ?, ?, ?, ?) "
            # A replaced row would be another one, in another page, and its index entry as well.
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
