"""Recovery of the state: load the tables, then replay the journal after the checkpoint.

Only what the core needs immediately is loaded: sessions, subscriptions, packet identifiers,
retained messages and wills. Queued and in-flight messages stay on disk until they are to be sent.
"""

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

from gateway.broker.core.records.blob import Blob
from gateway.broker.core.records.layout import properties_in
from gateway.broker.core.records.lost import Lost
from gateway.broker.core.records.replay import Replay
from gateway.broker.core.sessions.message import (
    HAS_PLACE,
    Delivery,
    DeliveryState,
    Held,
    Message,
    Will,
)
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription
from gateway.broker.core.state import State
from gateway.broker.store import clock_row, owners, queue_sizes
from gateway.broker.store.journal_end import RECORD_NAME, read_end
from gateway.broker.store.journal_files import FOLDER_NAME
from gateway.broker.store.journal_reading import Gap, JournalReading
from gateway.broker.store.unsynced import unsynced_batches
from gateway.broker.wire.values import topic_field_of

CONTENTS_PER_QUERY = 500
"""Maximum messages per query: enough for a page, and far below SQLite's 32,766 parameters."""


PASSED_OVER = "passed_over"
"""Key of the row in `meta` with the unreadable parts of the journal that are skipped."""


STORES_BEFORE = "stores_before"
"""Key of the row in `meta` with ids of stores whose tables are lost but whose batches count."""


@dataclass
class Recovered:
    """The recovered state, the journal that was read for it, and any damage and losses."""

    state: State
    journal: JournalReading
    covered: int = 1
    """First sequence number that the tables do not cover. Later changes are only in the journal."""
    next_sequence: int = 1
    next_batch: int = 1
    previous_boot: str = ""
    facts_applied: int = 0
    replayed_bytes: int = 0
    """Bytes of the replayed blobs, which the next start would have to replay as well."""
    unsynced: list[bytes] = field(default_factory=list)
    """Blobs that were written after the newest commit. They are applied to the state, and must be
    committed before anything else."""
    damage: list[str] = field(default_factory=list)
    lost: Lost = field(default_factory=Lost)
    """Messages that the replay could not assign to a session."""
    is_whole: bool = False
    """True if the journal was read to its end."""
    passed_over: list[Gap] = field(default_factory=list)
    """Gaps after the checkpoint that this start or an earlier start could not read."""


def gaps_in(text: str) -> list[Gap]:
    """Parse the ranges in a row of `meta`: "100-119 140-140". Raises ValueError if invalid."""
    pairs = (each.split("-") for each in text.split())
    return [(int(first), int(last)) for first, last in pairs]


def recover(
    connection: sqlite3.Connection,
    data_dir: Path,
    logged_filters: list[str],
    now: float,
    end_sequence: int | None = None,
    *,
    with_unsynced: bool = False,
) -> Recovered:
    """Return the state as of the last committed batch, or before the batch of `end_sequence`.

    `with_unsynced` includes records that were written later but not committed.
    """
    state = State(logged_filters)
    meta = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    checkpoint = int(meta.get("checkpoint", "1"))
    passed_over = gaps_in(meta.get(PASSED_OVER, ""))
    journal = _journal_of(data_dir, meta, checkpoint, passed_over)
    recovered = Recovered(state, journal)
    state.next_session_number = _next_number(connection, meta, "next_session", "sessions")
    state.next_message_number = _next_number(connection, meta, "next_message", "messages")
    if clock_row.KEY in meta and not clock_row.load(state.time, meta[clock_row.KEY]):
        recovered.damage.append(f"the row {clock_row.KEY!r} of the table meta is damaged")
    replay = Replay(state, now, lambda number: load_contents(connection, [number]).get(number))
    _load_tables(connection, state, replay, now)
    # The loaded state is already on disk: only records of the journal count as changes.
    state.freeze()
    replay.next_sequence = checkpoint
    replay.next_message = int(meta.get("next_message", "1"))
    for blob in journal.blobs():
        if end_sequence is not None and blob.first_sequence >= end_sequence:
            break
        if blob.first_sequence >= checkpoint:
            replay.apply(blob)
            recovered.replayed_bytes += len(blob.data)
        else:
            replay.note(blob)
    else:
        recovered.is_whole = True
    if with_unsynced and not (journal.gaps or journal.unread_end_bytes):
        recovered.unsynced = unsynced_batches(journal.folder, replay.next_sequence, replay.boot)
        for content in recovered.unsynced:
            replay.apply(Blob(content))
            recovered.replayed_bytes += len(content)
    if recovered.is_whole:
        journal.look_for_end(replay.next_sequence, replay.next_message)
    recovered.lost = replay.lost
    replay.finish()
    if not state.time.time_ms:
        # Neither the tables nor the journal have the time: no session was closed later than now.
        state.time.time_ms = max((each.closed_ms for each in state.sessions.values()), default=0)
    _complete(connection, state, meta)
    recovered.damage.extend(journal.damage)
    recovered.passed_over = [gap for gap in (*passed_over, *journal.gaps) if gap[1] >= checkpoint]
    recovered.covered = checkpoint
    recovered.next_sequence = max(replay.next_sequence, journal.known_to)
    recovered.next_batch = replay.next_batch
    recovered.previous_boot = replay.boot
    recovered.facts_applied = replay.facts_applied
    return recovered


def _journal_of(
    data_dir: Path, meta: dict[str, str], checkpoint: int, passed_over: list[Gap]
) -> JournalReading:
    known_end, flaw = read_end(data_dir)  # before the journal, to which a broker may be writing
    stores = [] if "store" not in meta else [meta["store"], *meta.get(STORES_BEFORE, "").split()]
    if known_end is not None and stores and known_end.store not in stores:
        known_end, flaw = None, f"{RECORD_NAME} is of another store and left out"
    journal = JournalReading(data_dir / FOLDER_NAME, checkpoint, passed_over, stores, known_end)
    if flaw is not None:
        journal.damage.append(flaw)
    return journal


def _next_number(connection: sqlite3.Connection, meta: dict[str, str], key: str, table: str) -> int:
    highest = connection.execute(f"SELECT max(number) FROM {table}").fetchone()[0] or 0
    return max(int(meta.get(key, "1")), int(highest) + 1)


def _load_tables(connection: sqlite3.Connection, state: State, replay: Replay, now: float) -> None:
    _load_sessions(connection, state)
    _load_subscriptions(connection, state)
    _load_messages(connection, state, replay, now)
    _load_outbound(connection, state)
    _load_queues(state)
    _load_wills(connection, state)


def _load_sessions(connection: sqlite3.Connection, state: State) -> None:
    for row in connection.execute("SELECT * FROM sessions ORDER BY number"):
        number, client_id, protocol, first_position, next_position, *rest = row
        last_packet_id, closed, expiry, username = rest
        session = Session(number, client_id, True)
        session.expiry_seconds = expiry
        session.username = username
        session.protocol = protocol
        session.first_position = first_position
        session.next_position = max(first_position, next_position)
        session.frozen_position = session.next_position
        session.last_packet_id = last_packet_id
        session.closed_ms = closed
        state.session_opened(session)


def _load_subscriptions(connection: sqlite3.Connection, state: State) -> None:
    for number, topic_filter, options, identifier in connection.execute(
        "SELECT session, filter, options, identifier FROM subscriptions"
    ):
        session = state.numbers.get(number)
        if session is not None:
            subscription = Subscription(topic_filter, options, identifier)
            state.subscribed(session, subscription)


def message_of(
    number: int, topic: str, payload: bytes, flags: int, properties: bytes | None
) -> Message:
    """Create a message from its row in the tables."""
    message = Message(number, topic, topic_field_of(topic), payload, flags & 3, bool(flags & 4))
    if properties is not None:
        message.expires_ms, message.forwarded = properties_in(properties)
    message.has_place = bool(flags & HAS_PLACE)
    message.stored = True
    message.batch = 0
    return message


def _load_messages(
    connection: sqlite3.Connection, state: State, replay: Replay, now: float
) -> None:
    columns = {row[1] for row in connection.execute("PRAGMA table_info(retained)")}
    # An audit reads formats 5 and 6 as they are.
    later = ", ".join(f"r.{each}" if each in columns else "NULL" for each in ("owner", "source"))
    for number, topic, payload, flags, properties, owner, source in connection.execute(
        f"SELECT m.number, r.topic, m.payload, m.flags, m.properties, {later}"
        " FROM retained r JOIN messages m ON m.number = r.message"
    ):
        message = message_of(number, topic, payload, flags, properties)
        message.owner = None if owner is None else state.owners.get(owner)
        message.source = None if source is None else replay.sources.source_in(source)
        replay.messages[number] = message
        state.retained_set(topic, message)
    for session_number, packet_id, number, *contents in connection.execute(
        "SELECT i.session, i.packet_id, m.number, m.topic, m.payload, m.flags, m.properties"
        " FROM inbound i JOIN messages m ON m.number = i.message ORDER BY m.number"
    ):
        session = state.numbers.get(session_number)
        if session is not None:
            message = replay.messages.get(number) or message_of(number, *contents)
            if message.owner is None:
                message.owner = session.owner
            replay.messages[number] = message
            state.message_held(Held(session, packet_id, message, now))


def _load_outbound(connection: sqlite3.Connection, state: State) -> None:
    for number, packet_id, message, flags, position, step in connection.execute(
        "SELECT session, packet_id, message, flags, position, state FROM outbound"
        " ORDER BY session, position"
    ):
        session = state.numbers.get(number)
        if session is not None:
            delivery = Delivery(session, None, message, flags, position)
            delivery.packet_id = packet_id
            delivery.state = DeliveryState(min(step, DeliveryState.RECEIVED))
            delivery.pubrec = step - delivery.state
            session.pubrecs = max(session.pubrecs, delivery.pubrec)
            delivery.stored = True
            session.outbound.put(delivery)


def _load_queues(state: State) -> None:
    """Set the position and length of each session's queue on disk.

    Rows at the front may be missing if a delivery was completed before the checkpoint wrote its
    row. The journal after the checkpoint then removes these positions from the queue.
    """
    for session in state.sessions.values():
        session.stored_first = session.first_position
        session.stored_count = session.next_position - session.first_position
        session.queued_count = session.stored_count


def _load_wills(connection: sqlite3.Connection, state: State) -> None:
    for number, client_id, topic, payload, flags, delay, expiry, properties in connection.execute(
        "SELECT session, client_id, topic, payload, flags, delay, expiry, properties FROM wills"
    ):
        owner = state.numbers.get(number) or Session(number, client_id, False)
        field = topic_field_of(topic)
        will = Will(topic, field, payload, flags & 3, bool(flags & 4), delay, expiry, properties)
        state.will_set(owner, will)


def _complete(connection: sqlite3.Connection, state: State, meta: dict[str, str]) -> None:
    """Complete the state after the replay: set owners, resend order, messages, and queue sizes."""
    owners.mark(state, meta.get(owners.KEY))
    wanted: dict[int, list[Delivery]] = {}
    for session in state.sessions.values():
        for delivery in sorted(session.outbound.values(), key=_resend_order):
            session.outbound.move_to_end(delivery)
        for delivery in (*session.waiting, *session.recent):
            if delivery.message is None:
                wanted.setdefault(delivery.message_number, []).append(delivery)
    contents = load_contents(connection, list(wanted))
    for number, deliveries in wanted.items():
        for delivery in deliveries:
            delivery.message = contents.get(number)
    queue_sizes.measure(connection, state)


def _resend_order(delivery: Delivery) -> tuple[int, int]:
    """Return a sort key: PUBRELs by PUBREC [MQTT-4.6.0-4], then PUBLISHes by queue position."""
    return -delivery.state, delivery.pubrec or delivery.position


def load_contents(connection: sqlite3.Connection, numbers: list[int]) -> dict[int, Message]:
    """Load messages from the tables, by message number. Missing messages are left out."""
    contents: dict[int, Message] = {}
    for start in range(0, len(numbers), CONTENTS_PER_QUERY):
        part = numbers[start : start + CONTENTS_PER_QUERY]
        marks = ",".join("?" * len(part))
        for number, *row in connection.execute(
            "SELECT number, topic, payload, flags, properties FROM messages"
            f" WHERE number IN ({marks})",
            part,
        ):
            contents[number] = message_of(number, *row)
    return contents
