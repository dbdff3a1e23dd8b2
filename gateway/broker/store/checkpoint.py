"""Checkpoint: the net change of a part of the journal, written to the tables in steps.

Steps run in a transaction that is opened with a batch and committed after it. A row may be newer
than this part of the journal, but never newer than the whole journal: the batch contains all
records up to now. Once the part counts as covered, the tables must contain everything that later
records refer to. This order makes a power cut between two steps harmless:

1. messages before the rows that refer to them; queue rows before the session's row, which states
   where the queue begins and ends (as of the end of this part);
2. deletions by key, then upserts: a packet identifier may have been freed and used again;
3. deletions of messages last, and only of messages that no other row refers to;
4. the number of the last covered batch, in the last step.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from gateway.broker.core.changes import Changes
from gateway.broker.core.records.layout import properties_section
from gateway.broker.core.sessions.message import SHARED, Delivery, DeliveryState, Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.state import State
from gateway.broker.store import clock_row
from gateway.broker.store.no_room import rows_lack_room
from gateway.broker.store.tables import MESSAGE_TABLES

CHUNK_ROWS = 64
"""Rows between two checks of the clock: at most some milliseconds on a small Pi, less on a PC."""

CHUNK_BYTES = 128 * 1024
"""Bytes of messages in a chunk, without its last message: 64 messages of 60 kB take 4 ms."""

DELETED_MESSAGES = 8
"""Messages deleted per chunk. Deleting a message of 60 kB takes as long as writing it, and the
sizes are not known here."""

_UNREFERENCED = " AND ".join(
    f"NOT EXISTS (SELECT 1 FROM {table} WHERE message = messages.number)"
    for table in MESSAGE_TABLES
)

Row = tuple[Any, ...]
Item = TypeVar("Item")


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
        self.next_sequence = next_sequence
        self.next_session = state.next_session_number
        self.next_message = state.next_message_number
        self.clock = clock_row.row_of(state.time)
        self.sweep_from = sweep_from
        """Message number from which to look for unreferenced messages, or None for no search."""
        self.changes: Changes = state.freeze()
        self._ended_before = frozenset(self.changes.ended)
        self._left: set[int] = set()
        """Messages that later records refer to. The next checkpoint deletes those without a use."""
        self.is_finished = False
        """True if the last row is written, whether or not it is committed."""
        self.lacks_room = False
        """True if the disk was full. Roll back the transaction, then call `write_again`."""
        self._uncommitted: list[tuple[str, list[Row]]] = []
        """Statements and rows of the open transaction, in order."""
        self._steps = self._run()

    def step(self) -> bool:
        """Write one chunk of rows. Return True if no further chunk remains."""
        self.is_finished = next(self._steps, True) is True
        return self.is_finished

    def committed(self) -> None:
        """Forget the rows of the transaction that was committed, which are in the WAL now."""
        self._uncommitted.clear()

    def write_again(self) -> None:
        """Write the rows of the last transaction again, after it was rolled back.

        The statements do not depend on existing rows, and no other process writes. So repeating
        them in the same order gives the same rows, even if the state has changed since.
        """
        self.lacks_room = False
        lost, self._uncommitted = self._uncommitted, []
        for statement, rows in lost:
            self._write(statement, rows)

    def _write(self, statement: str, rows: list[Row]) -> None:
        self._uncommitted.append((statement, rows))
        if self.lacks_room:
            return  # the generator must still reach its next `yield`
        try:
            self.connection.executemany(statement, rows)
        except sqlite3.OperationalError as error:
            if not rows_lack_room(error):
                raise
            self.lacks_room = True

    def _run(self) -> Iterator[bool]:
        changes = self.changes
        yield from self._many(
            "DELETE FROM inbound WHERE session = ? AND packet_id = ?", changes.released
        )
        yield from self._many(
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
        yield from self._many(
            f"DELETE FROM messages WHERE number = ? AND {_UNREFERENCED}",
            ((number,) for number in changes.orphans if number not in self._left),
            DELETED_MESSAGES,
        )
        if self.sweep_from is not None:
            yield from self._sweep(self.sweep_from)
        self._finish()

    def _many(
        self, statement: str, rows: Iterable[Row], chunk_rows: int = CHUNK_ROWS
    ) -> Iterator[bool]:
        iterator = iter(rows)
        while chunk := list(islice(iterator, chunk_rows)):
            self._write(statement, chunk)
            yield False

    def _write_messages(self, messages: Iterable[Message | None]) -> None:
        rows: list[Row] = []
        for message in messages:
            if message is not None and not message.stored:
                message.stored = True
                flags = message.flags()
                properties = properties_section(message.expires_ms, message.forwarded) or None
                rows.append((message.number, message.topic, message.payload, flags, properties))
        if rows:
            self._write("INSERT OR REPLACE INTO messages VALUES (?,?,?,?,?)", rows)

    def _held(self) -> Iterator[bool]:
        for chunk in _chunks((held, held.message) for held in self.changes.held):
            # Released messages too: their release is in the journal after this checkpoint, and
            # its replay needs the contents.
            self._write_messages(held.message for held in chunk)
            self._write(
                "INSERT OR REPLACE INTO inbound VALUES (?,?,?)",
                [(held.session.number, held.packet_id, held.message.number) for held in chunk],
            )
            yield False

    def _deliveries(self) -> Iterator[bool]:
        deliveries = self.changes.deliveries
        for chunk in _chunks((delivery, delivery.message) for delivery in deliveries):
            live = [delivery for delivery in chunk if delivery.state is not DeliveryState.DONE]
            self._write_messages(each.message for each in chunk if self._is_needed(each))
            self._write(
                "INSERT OR REPLACE INTO queue VALUES (?,?,?,?,?)",
                [
                    _queue_row(delivery)
                    for delivery in live
                    if delivery.state is DeliveryState.WAITING
                ],
            )
            self._write(
                "INSERT OR REPLACE INTO outbound VALUES (?,?,?,?,?,?)",
                [
                    _outbound_row(delivery)
                    for delivery in live
                    if delivery.state is not DeliveryState.WAITING
                ],
            )
            yield False

    def _is_needed(self, delivery: Delivery) -> bool:
        """Return True if a replay from this checkpoint needs the contents of a message.

        This includes a message that an ended session passed to another member of its group, since
        its new queue entry is in the journal after this checkpoint.
        """
        if delivery.state is not DeliveryState.DONE:
            return True
        session = delivery.session
        if not session.ended or session.number in self._ended_before or not delivery.flags & SHARED:
            return False
        self._left.add(delivery.message_number)
        return True

    def _retained(self) -> Iterator[bool]:
        items = self.changes.retained.items()
        for chunk in _chunks((item, item[1]) for item in items):
            self._write_messages(message for _, message in chunk)
            self._write(
                "INSERT OR REPLACE INTO retained VALUES (?,?,?,?)",
                [(topic, *new.retained_by()) for topic, new in chunk if new is not None],
            )
            self._write(
                "DELETE FROM retained WHERE topic = ?",
                [(topic,) for topic, message in chunk if message is None],
            )
            yield False

    def _subscriptions(self) -> Iterator[bool]:
        items = self.changes.subscriptions.items()
        yield from self._many(
            "DELETE FROM subscriptions WHERE session = ? AND filter = ?",
            (key for key, subscription in items if subscription is None),
        )
        yield from self._many(
            "INSERT OR REPLACE INTO subscriptions VALUES (?,?,?,?)",
            (
                (key[0], key[1], subscription.options, subscription.identifier)
                for key, subscription in items
                if subscription is not None
            ),
        )

    def _wills(self) -> Iterator[bool]:
        wills = [(number, owner, owner.will) for number, owner in self.changes.wills.items()]
        yield from self._many(
            "DELETE FROM wills WHERE session = ?",
            [(number,) for number, _, will in wills if will is None],
        )
        yield from self._many(
            "INSERT OR REPLACE INTO wills VALUES (?,?,?,?,?,?,?,?)",
            [
                (
                    number,
                    owner.client_id,
                    will.topic,
                    will.payload,
                    will.qos | will.retain << 2,
                    will.delay_seconds,
                    will.expiry_seconds,
                    will.forwarded,
                )
                for number, owner, will in wills
                if will is not None
            ],
        )

    def _sessions(self) -> Iterator[bool]:
        yield from self._many(
            "INSERT OR REPLACE INTO sessions VALUES (?,?,?,?,?,?,?,?,?)",
            (_session_row(session) for session in self.changes.sessions),
        )

    def _trim(self, session: Session) -> Iterator[bool]:
        """Delete queue rows of deliveries that were started before this checkpoint began.

        Queue rows of later deliveries are kept until the next checkpoint writes their rows in
        `outbound`. Until then, the queue row keeps the message from being deleted.
        """
        while rows := self.connection.execute(
            "SELECT session, position FROM queue WHERE session = ? AND position < ?"
            f" ORDER BY position LIMIT {CHUNK_ROWS}",
            (session.number, session.frozen_first),
        ).fetchall():
            self._write("DELETE FROM queue WHERE session = ? AND position = ?", rows)
            yield False

    def _ended(self, number: int) -> Iterator[bool]:
        for table in ("inbound", "outbound", "queue"):
            key = "position" if table == "queue" else "packet_id"
            while rows := self.connection.execute(
                f"SELECT {key}, message FROM {table} WHERE session = ? LIMIT {CHUNK_ROWS}",
                (number,),
            ).fetchall():
                self._write(
                    f"DELETE FROM {table} WHERE session = ? AND {key} = ?",
                    [(number, row[0]) for row in rows],
                )
                self.changes.orphans.update(row[1] for row in rows)
                yield False
        self._write("DELETE FROM subscriptions WHERE session = ?", [(number,)])
        self._write("DELETE FROM sessions WHERE number = ?", [(number,)])
        yield False

    def _sweep(self, first: int) -> Iterator[bool]:
        """Delete unreferenced messages, from `first` on, that an interrupted checkpoint left."""
        while True:
            numbers = self.connection.execute(
                "SELECT number FROM messages WHERE number >= ? AND number < ?"
                f" ORDER BY number LIMIT {DELETED_MESSAGES}",
                (first, self.next_message),
            ).fetchall()
            if not numbers:
                return
            self._write(
                f"DELETE FROM messages WHERE number = ? AND {_UNREFERENCED}",
                [each for each in numbers if each[0] not in self._left],
            )
            first = numbers[-1][0] + 1
            yield False

    def _finish(self) -> None:
        self._write(
            "INSERT OR REPLACE INTO meta VALUES (?,?)",
            [
                ("checkpoint", str(self.next_sequence)),
                ("next_session", str(self.next_session)),
                ("next_message", str(self.next_message)),
                (clock_row.KEY, self.clock),
            ],
        )


def _chunks(rows: Iterable[tuple[Item, Message | None]]) -> Iterator[list[Item]]:
    """Yield `rows` in chunks, each small enough to be written between two checks of the clock."""
    chunk: list[Item] = []
    size_bytes = 0
    for row, message in rows:
        chunk.append(row)
        if message is not None and not message.stored:
            size_bytes += message.size_bytes()
        if len(chunk) >= CHUNK_ROWS or size_bytes >= CHUNK_BYTES:
            yield chunk
            chunk, size_bytes = [], 0
    if chunk:
        yield chunk


def _queue_row(delivery: Delivery) -> Row:
    message = delivery.message
    return (
        delivery.session.number,
        delivery.position,
        delivery.message_number,
        delivery.flags,
        0 if message is None else message.size_bytes(),
    )


def _outbound_row(delivery: Delivery) -> Row:
    return (
        delivery.session.number,
        delivery.packet_id,
        delivery.message_number,
        delivery.flags,
        delivery.position,
        delivery.state
        if delivery.state is DeliveryState.SENT
        else DeliveryState.RECEIVED + delivery.pubrec,
    )


def _session_row(session: Session) -> Row:
    return (
        session.number,
        session.client_id,
        session.protocol,
        session.frozen_first,
        session.frozen_position,
        session.last_packet_id,
        session.closed_ms,
        session.expiry_seconds,
        session.username,
    )
