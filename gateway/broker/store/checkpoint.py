"""Checkpoints, which write the changes from one part of the journal to the database tables.

A checkpoint is divided into steps. Each step runs in a transaction that is opened with a batch and
committed after the batch. A row can be newer than the part of the journal that the checkpoint
covers. It is never newer than the whole journal, because the batch contains all records up to now.
When the checkpoint is complete, the tables must contain everything that later records refer to.
This order of the steps makes a power cut between them harmless:

1. messages before the rows that refer to them; queue rows before the session's row, which states
   where the queue begins and ends;
2. deletions by key before upserts, because a packet identifier may have been freed and reused;
3. deletions of messages, and only of messages that no row refers to any more;
4. in the last step, the number of the last batch whose changes are in the tables.
"""

import sqlite3
from collections.abc import Iterator

from gateway.broker.core.changes import Changes
from gateway.broker.core.sessions.message import SHARED, Delivery, DeliveryState
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.state import State
from gateway.broker.store import clock_row
from gateway.broker.store.row_writer import CHUNK_ROWS, RowWriter, chunks_of
from gateway.broker.store.rows import outbound_row, queue_row, session_row, will_row
from gateway.broker.store.tables import MESSAGE_TABLES

DELETED_MESSAGES = 8
"""Messages deleted per chunk. The number is small because the sizes are unknown here, and deleting
a message of 60 kB takes as long as writing it."""

_UNREFERENCED = " AND ".join(
    f"NOT EXISTS (SELECT 1 FROM {table} WHERE message = messages.number)"
    for table in MESSAGE_TABLES
)


class Checkpoint:
    """A checkpoint in progress. Call `step` within a transaction until `step` returns True."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        state: State,
        next_sequence: int,
        sweep_from: int | None,
    ) -> None:
        self.connection = connection
        self.rows = RowWriter(connection)
        """Writer for the rows of the open transaction. If the disk has no space for the rows, roll
        back the transaction and write them again."""
        self.next_sequence = next_sequence
        self.next_session = state.next_session_number
        self.next_message = state.next_message_number
        self.clock = clock_row.row_of(state.time)
        self.sweep_from = sweep_from
        """First message number in the search for unreferenced messages, or None for no search."""
        self.changes: Changes = state.freeze()
        self._ended_before = frozenset(self.changes.ended)
        self._kept: set[int] = set()
        """Numbers of messages that are kept because later records in the journal refer to them. The
        next checkpoint deletes those that are no longer used."""
        self.is_finished = False
        """True once the last row has been written, even if it is not committed yet."""
        self._steps = self._run()

    def step(self) -> bool:
        """Write one chunk of rows. Return True once all rows have been written."""
        self.is_finished = next(self._steps, True) is True
        return self.is_finished

    def _run(self) -> Iterator[bool]:
        changes = self.changes
        yield from self.rows.write_in_chunks(
            "DELETE FROM inbound WHERE session = ? AND packet_id = ?", changes.released
        )
        yield from self.rows.write_in_chunks(
            "DELETE FROM outbound WHERE session = ? AND packet_id = ?", changes.completed
        )
        yield from self._held()
        yield from self._deliveries()
        yield from self._retained()
        yield from self._subscriptions()
        yield from self._wills()
        yield from self._sessions()
        for session in changes.trimmed:
            yield from self._trim(session)
        for number in changes.ended:
            yield from self._ended(number)
        yield from self.rows.write_in_chunks(
            f"DELETE FROM messages WHERE number = ? AND {_UNREFERENCED}",
            ((number,) for number in changes.orphans if number not in self._kept),
            DELETED_MESSAGES,
        )
        if self.sweep_from is not None:
            yield from self._sweep(self.sweep_from)
        self._finish()

    def _held(self) -> Iterator[bool]:
        for chunk in chunks_of((held, held.message) for held in self.changes.held):
            # Messages released in the meantime are written too. The journal records their release
            # after this checkpoint, and replaying the release needs their contents.
            self.rows.write_messages(held.message for held in chunk)
            self.rows.write(
                "INSERT OR REPLACE INTO inbound VALUES (?,?,?)",
                [(held.session.number, held.packet_id, held.message.number) for held in chunk],
            )
            yield False

    def _deliveries(self) -> Iterator[bool]:
        deliveries = self.changes.deliveries
        for chunk in chunks_of((delivery, delivery.message) for delivery in deliveries):
            live = [delivery for delivery in chunk if delivery.state is not DeliveryState.DONE]
            self.rows.write_messages(each.message for each in chunk if self._is_needed(each))
            self.rows.write(
                "INSERT OR REPLACE INTO queue VALUES (?,?,?,?,?)",
                [
                    queue_row(delivery)
                    for delivery in live
                    if delivery.state is DeliveryState.WAITING
                ],
            )
            self.rows.write(
                "INSERT OR REPLACE INTO outbound VALUES (?,?,?,?,?,?)",
                [
                    outbound_row(delivery)
                    for delivery in live
                    if delivery.state is not DeliveryState.WAITING
                ],
            )
            yield False

    def _is_needed(self, delivery: Delivery) -> bool:
        """Return True if a replay from this checkpoint needs the message of a delivery.

        The message is needed if the delivery is not complete. It is also needed if the delivery
        belongs to a shared subscription and its session ended after the checkpoint began. Such a
        message is passed to another member, and this transfer is recorded after the checkpoint.
        """
        if delivery.state is not DeliveryState.DONE:
            return True
        session = delivery.session
        if not session.ended or session.number in self._ended_before or not delivery.flags & SHARED:
            return False
        self._kept.add(delivery.message_number)
        return True

    def _retained(self) -> Iterator[bool]:
        items = self.changes.retained.items()
        for chunk in chunks_of((item, item[1]) for item in items):
            self.rows.write_messages(message for _, message in chunk)
            self.rows.write(
                "INSERT OR REPLACE INTO retained VALUES (?,?,?,?)",
                [(topic, *new.retained_by()) for topic, new in chunk if new is not None],
            )
            self.rows.write(
                "DELETE FROM retained WHERE topic = ?",
                [(topic,) for topic, message in chunk if message is None],
            )
            yield False

    def _subscriptions(self) -> Iterator[bool]:
        items = self.changes.subscriptions.items()
        yield from self.rows.write_in_chunks(
            "DELETE FROM subscriptions WHERE session = ? AND filter = ?",
            (key for key, subscription in items if subscription is None),
        )
        yield from self.rows.write_in_chunks(
            "INSERT OR REPLACE INTO subscriptions VALUES (?,?,?,?)",
            (
                (key[0], key[1], subscription.options, subscription.identifier)
                for key, subscription in items
                if subscription is not None
            ),
        )

    def _wills(self) -> Iterator[bool]:
        wills = [(number, owner, owner.will) for number, owner in self.changes.wills.items()]
        yield from self.rows.write_in_chunks(
            "DELETE FROM wills WHERE session = ?",
            [(number,) for number, _, will in wills if will is None],
        )
        yield from self.rows.write_in_chunks(
            "INSERT OR REPLACE INTO wills VALUES (?,?,?,?,?,?,?,?)",
            [
                will_row(number, owner.client_id, will)
                for number, owner, will in wills
                if will is not None
            ],
        )

    def _sessions(self) -> Iterator[bool]:
        yield from self.rows.write_in_chunks(
            "INSERT OR REPLACE INTO sessions VALUES (?,?,?,?,?,?,?,?,?)",
            (session_row(session) for session in self.changes.sessions),
        )

    def _trim(self, session: Session) -> Iterator[bool]:
        """Delete a session's queue rows for deliveries that started before this checkpoint began.

        A delivery that was started later has no row in `outbound` until the next checkpoint. It
        keeps its queue row so that its message is not deleted.
        """
        while rows := self.connection.execute(
            "SELECT session, position FROM queue WHERE session = ? AND position < ?"
            f" ORDER BY position LIMIT {CHUNK_ROWS}",
            (session.number, session.frozen_first),
        ).fetchall():
            self.rows.write("DELETE FROM queue WHERE session = ? AND position = ?", rows)
            yield False

    def _ended(self, number: int) -> Iterator[bool]:
        for table in ("inbound", "outbound", "queue"):
            key = "position" if table == "queue" else "packet_id"
            while rows := self.connection.execute(
                f"SELECT {key}, message FROM {table} WHERE session = ? LIMIT {CHUNK_ROWS}",
                (number,),
            ).fetchall():
                self.rows.write(
                    f"DELETE FROM {table} WHERE session = ? AND {key} = ?",
                    [(number, row[0]) for row in rows],
                )
                self.changes.orphans.update(row[1] for row in rows)
                yield False
        self.rows.write("DELETE FROM subscriptions WHERE session = ?", [(number,)])
        self.rows.write("DELETE FROM sessions WHERE number = ?", [(number,)])
        yield False

    def _sweep(self, first: int) -> Iterator[bool]:
        """Delete unreferenced messages that an interrupted checkpoint has left in the tables.

        The search begins at the message number `first`.
        """
        while True:
            numbers = self.connection.execute(
                "SELECT number FROM messages WHERE number >= ? AND number < ?"
                f" ORDER BY number LIMIT {DELETED_MESSAGES}",
                (first, self.next_message),
            ).fetchall()
            if not numbers:
                return
            self.rows.write(
                f"DELETE FROM messages WHERE number = ? AND {_UNREFERENCED}",
                [each for each in numbers if each[0] not in self._kept],
            )
            first = numbers[-1][0] + 1
            yield False

    def _finish(self) -> None:
        self.rows.write(
            "INSERT OR REPLACE INTO meta VALUES (?,?)",
            [
                ("checkpoint", str(self.next_sequence)),
                ("next_session", str(self.next_session)),
                ("next_message", str(self.next_message)),
                (clock_row.KEY, self.clock),
            ],
        )
