"""Comparison of the database with the messages that are open at the end of the log.

A message is open while it is waiting for a PUBREL, is queued, or is in flight. The database is read
as the broker reads it at startup: first the tables, then the journal. A message that is open in the
log but missing from the database is lost.
"""

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from gateway.broker.core.sessions.session import Session
from gateway.broker.store.recovery import recover
from gateway.tools.audit.context import Context, Place
from gateway.tools.audit.log_check import LogCheck
from gateway.tools.audit.session_state import Held, InFlight, SessionState, Waiting

Open = dict[tuple[str, int], int]
"""Numbers of a session's open messages. The keys are pairs: "held" or "in flight" with the packet
identifier, or "queue" with the position."""


@dataclass(frozen=True)
class Database:
    """The database to compare with the log.

    `connection` is in a transaction, so that all queries show the same state.
    """

    connection: sqlite3.Connection
    data_dir: Path
    end_sequence: int
    """The sequence number after the last event that was checked."""


def compare(log_check: LogCheck, database: Database) -> None:
    """Compare the database with the messages that are open at the end of the checked log.

    This is the check `state` in docs/audit.md. Raises `OSError` and `sqlite3.Error` if the database
    cannot be read.
    """
    context = log_check.context
    connection = database.connection
    recovered = recover(connection, database.data_dir, [], 0.0, database.end_sequence)
    if recovered.damage:
        # The audit took too long for a busy broker, or the journal is damaged. Only a start of the
        # broker would show which is the case.
        context.add("inconclusive", "state", f"the journal after the tables: {recovered.damage[0]}")
        return
    numbers = {session.number: session for session in recovered.state.sessions.values()}
    for logged in context.sessions.values():
        if logged.persistent is False:
            continue
        session = numbers.pop(logged.number, None)
        _compare_session(context, logged, {} if session is None else _open_in(connection, session))
    for session in numbers.values():
        logged = SessionState(session.number, session.client_id, True, True, -1)
        _compare_session(context, logged, _open_in(connection, session))


def _open_in(connection: sqlite3.Connection, session: Session) -> Open:
    found: Open = {
        ("held", held.packet_id): held.message.number for held in session.inbound.values()
    }
    for delivery in session.outbound.values():
        found["in flight", delivery.packet_id] = delivery.message_number
    for delivery in (*session.waiting, *session.recent):
        found["queue", delivery.position] = delivery.message_number
    if session.stored_count:
        end = session.stored_first + session.stored_count
        for position, message in connection.execute(
            "SELECT position, message FROM queue WHERE session = ? AND position >= ?"
            " AND position < ?",
            (session.number, session.stored_first, end),
        ):
            found["queue", position] = message
    return found


def _compare_session(context: Context, logged: SessionState, stored: Open) -> None:
    in_log: dict[tuple[str, int], Held | Waiting | InFlight] = {}
    in_log.update({("held", packet_id): held for packet_id, held in logged.held.items()})
    in_log.update({("in flight", packet_id): one for packet_id, one in logged.outbound.items()})
    in_log.update({("queue", waiting.position): waiting for waiting in logged.queue})
    for (where, number), one in in_log.items():
        found = stored.pop((where, number), None)
        if found == one.message:
            continue
        is_firm = one.epoch == context.epoch
        place = f"{where}, {'position' if where == 'queue' else 'packet identifier'} {number}"
        context.add(
            "violation" if is_firm else "inconclusive",
            "state",
            f"the log leaves message {one.message} open ({place}) and the database "
            + (f"has message {found} there" if found is not None else "does not have it")
            + ("" if is_firm else "; it may have ended where the log is not whole"),
            Place(one.message, logged, (one.sequence,), "database"),
        )
    if stored:
        _add_unlogged(context, logged, stored)


def _add_unlogged(context: Context, logged: SessionState, stored: Open) -> None:
    """Report a session's messages that are in the database, but are not open in the log.

    `stored` contains these messages. All of them are reported in one finding.
    """
    (where, number), message = next(iter(stored.items()))
    is_firm = logged.epoch == context.epoch
    context.add(
        "violation" if is_firm else "inconclusive",
        "state",
        f"the database holds {len(stored)} messages for this session that the log does not leave "
        f"open, the first is message {message} ({where} {number})"
        + ("" if is_firm else "; they may be older than the log"),
        Place(message, logged, segment="database"),
    )
