"""The database of the uplink, with the messages and packet identifiers of both directions."""

import sqlite3
from collections.abc import Iterable
from typing import Final

from gateway.process.durable_queue.table import QueueTable, TableDatabase
from gateway.process.mqtt_client.exchanges import Exchange
from gateway.uplink.formats import COLUMNS, MIGRATION_SET, MIGRATIONS_KNOWN
from gateway.uplink.message import ROW_OVERHEAD_BYTES, Message
from gateway.uplink.routes import Side

TABLES: Final = {Side.REMOTE: "messages_out", Side.LOCAL: "messages_in"}
"""Names of the tables with the messages for each side's broker."""


class Messages(QueueTable[Message]):
    """Table of the messages that are queued for one of the two brokers."""

    message_type = Message
    columns = ("topic", "payload", "qos", "retain", "properties", "expires_at")
    bytes_of_row = f"LENGTH(topic) + LENGTH(payload) + LENGTH(properties) + {ROW_OVERHEAD_BYTES}"

    def start(self, exchanges: Iterable[Exchange[Message]]) -> None:
        """Store the packet identifiers and the QoS of started exchanges."""
        self._update(
            "packet_id = ?, qos = ?",
            [(each.packet_id, each.message.qos, each.number) for each in exchanges],
        )


class UplinkStore(TableDatabase):
    """The uplink's database in one file.

    Methods raise the same exceptions as those of the base class `QueueDatabase`.
    """

    migration_set = MIGRATION_SET
    migrations_known = MIGRATIONS_KNOWN
    columns_of = COLUMNS

    def _migrate(self) -> None:
        from gateway.uplink.schema import migrate  # noqa: PLC0415 - see there

        migrate(self._connection)

    def _load(self) -> None:
        self.messages = {side: Messages(self._connection, name) for side, name in TABLES.items()}
        self.queue_tables = tuple(self.messages.values())

    # Packet identifiers of QoS 2 messages that a side has sent but not released

    def received(self, source: Side) -> set[int]:
        """Return the stored packet identifiers of QoS 2 messages from the broker `source`.

        Each identifier is stored until the PUBREL for its message arrives.
        """
        rows = self._connection.execute(
            "SELECT packet_id FROM received WHERE side = ?", (int(source),)
        )
        return {packet_id for (packet_id,) in rows}

    def note_received(self, source: Side, packet_ids: Iterable[int]) -> None:
        """Store the packet identifiers of QoS 2 messages from the broker `source`.

        The caller stores the messages themselves in the same transaction.
        """
        self._connection.executemany(
            "INSERT OR IGNORE INTO received (side, packet_id) VALUES (?, ?)",
            [(int(source), packet_id) for packet_id in packet_ids],
        )

    def free_received(self, source: Side, packet_ids: Iterable[int] | None) -> None:
        """Delete packet identifiers of QoS 2 messages from the broker `source`.

        `packet_ids` belong to messages whose PUBREL has arrived. If it is None, all identifiers are
        deleted, because the broker has lost the session.
        """
        if packet_ids is None:
            self._connection.execute("DELETE FROM received WHERE side = ?", (int(source),))
            return
        self._connection.executemany(
            "DELETE FROM received WHERE side = ? AND packet_id = ?",
            [(int(source), packet_id) for packet_id in packet_ids],
        )

    def salvage_from(self, damaged: sqlite3.Connection) -> int:
        """Copy the readable rows of a damaged file into this new file.

        Return the number of copied messages.
        """
        from gateway.process.files.salvage import copy_table  # noqa: PLC0415 - only where there is damage

        for table in ("properties", "received"):
            copy_table(damaged, self._connection, table)
        return sum(copy_table(damaged, self._connection, table) for table in TABLES.values())
