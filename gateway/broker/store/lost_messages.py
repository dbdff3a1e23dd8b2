"""Counts the messages that were lost through damage, and describes the losses for the log."""

import sqlite3
from dataclasses import dataclass

from gateway.broker.core.sessions.session import Session
from gateway.broker.core.state import State
from gateway.broker.store.recovery import Recovered

SESSIONS_NAMED_MAX = 10
"""Maximum sessions named in the report at startup: those that lost the most messages. Further
sessions are only counted. Each named session takes a line in the log and an event."""

CLIENT_ID_SHOWN = 64
"""Maximum characters of a client id in the report. A client id may have 65,535 characters."""


@dataclass
class Loss:
    """Counts of the messages that one session has lost."""

    client_id: str
    count: int = 0
    skipped: int = 0
    """Queue positions for which no record exists. Their messages may have been delivered."""
    received: int = 0
    """QoS 2 messages that were received from the client but not released."""
    session_is_lost: bool = False

    @property
    def total(self) -> int:
        """Total number of messages that the session has lost."""
        return self.count + self.skipped + self.received

    def sentence(self) -> str:
        """Return a log sentence with the client, the number of lost messages and the reason."""
        name = (
            f"client {self.client_id[:CLIENT_ID_SHOWN]!r}"
            if self.client_id
            else "a client whose id is lost"
        )
        parts = []
        if self.count or self.skipped:
            bound = "up to " if self.skipped else ""
            parts.append(f"{bound}{_messages(self.count + self.skipped)} queued for {name}")
        if self.received:
            parts.append(f"{_messages(self.received)} received from {name} at QoS 2")
        reason = ": its session cannot be read" if self.session_is_lost else ""
        return f"lost: {' and '.join(parts)}{reason}"


def _messages(count: int) -> str:
    return f"{count} message{'' if count == 1 else 's'}"


def lost_messages(connection: sqlite3.Connection, recovered: Recovered) -> list[str]:
    """Return log sentences that describe the lost messages.

    The sessions with the largest losses get a sentence each. One more sentence states the total of
    the remaining losses.
    """
    losses = _losses_of_unknown_sessions(connection, recovered)
    for number, loss in _losses_of_known_sessions(connection, recovered.state).items():
        loss.skipped = recovered.lost.skipped.pop(number, 0)
        losses.append(loss)
    for number, count in recovered.lost.skipped.items():
        session = recovered.state.numbers.get(number)
        if session is not None:
            losses.append(Loss(session.client_id, skipped=count))
    losses = sorted((loss for loss in losses if loss.total), key=lambda loss: -loss.total)
    named, others = losses[:SESSIONS_NAMED_MAX], losses[SESSIONS_NAMED_MAX:]
    sentences = [loss.sentence() for loss in named]
    if others:
        count = sum(loss.total for loss in others)
        sentences.append(f"lost: {_messages(count)} of {len(others)} more sessions")
    retained = _retained_without_contents(connection, recovered.state)
    if retained:
        sentences.append(f"lost: the contents of {retained} retained messages")
    if recovered.journal.is_end_missing:
        sentences.append(_loss_at_end(recovered))
    return sentences


def _loss_at_end(recovered: Recovered) -> str:
    """Return a log sentence that gives the maximum number of messages lost with the journal's end.

    The exact number is unknown. The maximum is the smaller of two upper limits:

    - the number of lost events, because each lost message had at least one event
    - the number of messages that were numbered in the lost part, plus the QoS 2 messages that are
      waiting for a PUBREL. If the PUBREL was lost, the publisher does not send the message again.
    """
    journal, sessions = recovered.journal, recovered.state.numbers.values()
    held = sum(len(session.inbound) for session in sessions)
    count = min(journal.end_events, journal.end_messages + held)
    if not count:
        return "lost with the end of the journal: no messages"
    clients = sorted(session.client_id for session in sessions)
    named = [repr(each[:CLIENT_ID_SHOWN]) for each in clients[:SESSIONS_NAMED_MAX]]
    if len(clients) > len(named):
        named.append(f"{len(clients) - len(named)} more")
    known = f" for or from the sessions {', '.join(named)}, or" if named else " for or from"
    return f"lost with the end of the journal: up to {_messages(count)}{known} sessions opened then"


def _losses_of_unknown_sessions(connection: sqlite3.Connection, recovered: Recovered) -> list[Loss]:
    """Return the losses of sessions that no longer exist, because their own data is lost.

    These sessions are known only from their remaining messages in the journal or the tables.
    """
    lost, state = recovered.lost.sessions, recovered.state
    losses = {
        number: Loss(each.client_id, each.queued_count(), 0, len(each.held), True)
        for number, each in lost.items()
    }
    ended = set(state.changes.ended)
    for table, column in (("queue", "position"), ("outbound", "packet_id")):
        for number, value in connection.execute(
            f"SELECT session, {column} FROM {table}"
            " WHERE session NOT IN (SELECT number FROM sessions)"
        ):
            if number in state.numbers or number in ended:
                continue
            loss = losses.setdefault(number, Loss("", session_is_lost=True))
            session = lost.get(number)
            if session is None:
                loss.count += 1
            elif table == "outbound":
                loss.count += value not in session.completed and value not in session.in_flight
            elif value >= session.started_to:
                # Gaps in the journal are already counted.
                loss.count += not 0 <= session.queued_from <= value
    return list(losses.values())


def _losses_of_known_sessions(connection: sqlite3.Connection, state: State) -> dict[int, Loss]:
    """Return the losses of existing sessions, keyed by session number.

    The lost messages are those that are missing from the sessions' queues.
    """
    losses: dict[int, Loss] = {}
    for session in state.numbers.values():
        count = _missing_in(connection, session)
        if count:
            losses[session.number] = Loss(session.client_id, count)
    return losses


def _missing_in(connection: sqlite3.Connection, session: Session) -> int:
    missing = sum(each.message is None for each in (*session.waiting, *session.recent))
    if session.stored_count:
        (found,) = connection.execute(
            "SELECT count(*) FROM queue q JOIN messages m ON m.number = q.message"
            " WHERE q.session = ? AND q.position >= ? AND q.position < ?",
            (session.number, session.stored_first, session.stored_first + session.stored_count),
        ).fetchone()
        missing += session.stored_count - found
    for packet_id in [
        row[0]
        for row in connection.execute(
            "SELECT o.packet_id FROM outbound o LEFT JOIN messages m ON m.number = o.message"
            " WHERE o.session = ? AND o.state = 1 AND m.number IS NULL",
            (session.number,),
        )
    ]:
        missing += packet_id in session.outbound
    return missing


def _retained_without_contents(connection: sqlite3.Connection, state: State) -> int:
    rows = connection.execute(
        "SELECT r.topic FROM retained r LEFT JOIN messages m ON m.number = r.message"
        " WHERE m.number IS NULL"
    )
    return sum(topic not in state.retained for (topic,) in rows)
