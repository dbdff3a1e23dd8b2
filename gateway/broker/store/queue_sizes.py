"""Calculates the size of each session's queue in bytes at startup."""

import sqlite3

from gateway.broker.core.state import State


def measure(connection: sqlite3.Connection, state: State) -> None:
    """Calculate the size of each session's queue in bytes, in one pass over the queues on disk."""
    for session in state.sessions.values():
        session.queued_bytes = sum(
            delivery.message.size_bytes()
            for delivery in (*session.waiting, *session.recent)
            if delivery.message is not None
        )
    for number, first, last, size_bytes in connection.execute(
        "SELECT session, min(position), max(position), sum(bytes) FROM queue GROUP BY session"
    ):
        owner = state.numbers.get(number)
        if owner is None or not owner.stored_count:
            continue
        end = owner.stored_first + owner.stored_count
        if owner.stored_first <= first and last < end:
            owner.queued_bytes += size_bytes
        else:  # replay of the journal has moved the ends of the queue since the rows were written
            owner.queued_bytes += _stored_bytes(connection, number, owner.stored_first, end)
    state.owners.measure_queues(state.sessions.values())


def _stored_bytes(connection: sqlite3.Connection, number: int, first: int, end: int) -> int:
    row = connection.execute(
        "SELECT sum(bytes) FROM queue WHERE session = ? AND position >= ? AND position < ?",
        (number, first, end),
    ).fetchone()
    return row[0] or 0
