"""Recovers the state: loads the tables, then replays the journal after the checkpoint.

Only what the core needs immediately is loaded: sessions, subscriptions, packet identifiers,
retained messages and wills. Queued and in-flight messages stay on disk until they are due to be
sent.
"""

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

from gateway.broker.core.records.blob import Blob
from gateway.broker.core.records.lost import LostMessages
from gateway.broker.core.records.replay import Replay
from gateway.broker.core.sessions.message import Delivery
from gateway.broker.core.state import State
from gateway.broker.store import clock_row, queue_sizes
from gateway.broker.store.journal_end import RECORD_NAME, read_end
from gateway.broker.store.journal_files import FOLDER_NAME
from gateway.broker.store.journal_scan import Gap, JournalScan
from gateway.broker.store.pages import load_contents
from gateway.broker.store.table_loading import load_tables
from gateway.broker.store.unsynced import unsynced_batches

SKIPPED_GAPS = "passed_over"
"""Key of the row in `meta` with the unreadable parts of the journal that are skipped."""


STORES_BEFORE = "stores_before"
"""Key of the row in `meta` with ids of stores whose tables are lost but whose batches are valid."""


@dataclass
class Recovered:
    """The recovered state, the journal from which it was rebuilt, and any damage and losses."""

    state: State
    journal: JournalScan
    first_uncovered: int = 1
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
    lost: LostMessages = field(default_factory=LostMessages)
    """Messages that the replay could not assign to a session."""
    is_whole: bool = False
    """True if the journal was read to its end."""
    skipped_gaps: list[Gap] = field(default_factory=list)
    """Gaps after the checkpoint that could not be read at this startup or an earlier one."""


def gaps_in(text: str) -> list[Gap]:
    """Parse ranges of sequence numbers, such as "100-119 140-140". Raises ValueError if invalid."""
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
    """Rebuild the state from the tables and all journal events before `end_sequence` (if given).

    If the argument `with_unsynced` is True, written but uncommitted records are applied too.
    """
    state = State(logged_filters)
    meta = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    checkpoint = int(meta.get("checkpoint", "1"))
    skipped_gaps = gaps_in(meta.get(SKIPPED_GAPS, ""))
    journal = _journal_of(data_dir, meta, checkpoint, skipped_gaps)
    recovered = Recovered(state, journal)
    state.next_session_number = _next_number(connection, meta, "next_session", "sessions")
    state.next_message_number = _next_number(connection, meta, "next_message", "messages")
    if clock_row.KEY in meta and not clock_row.load(state.time, meta[clock_row.KEY]):
        recovered.damage.append(f"the row {clock_row.KEY!r} of the table meta is damaged")
    replay = Replay(state, now, lambda number: load_contents(connection, [number]).get(number))
    load_tables(connection, state, replay, now)
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
        journal.check_recorded_end(replay.next_sequence, replay.next_message)
    recovered.lost = replay.lost
    replay.finish()
    if not state.time.time_ms:
        # Neither the tables nor the journal have the time: no session was closed later than now.
        state.time.time_ms = max((each.closed_ms for each in state.sessions.values()), default=0)
    _complete(connection, state)
    recovered.damage.extend(journal.damage)
    recovered.skipped_gaps = [gap for gap in (*skipped_gaps, *journal.gaps) if gap[1] >= checkpoint]
    recovered.first_uncovered = checkpoint
    recovered.next_sequence = max(replay.next_sequence, journal.known_end_sequence)
    recovered.next_batch = replay.next_batch
    recovered.previous_boot = replay.boot
    recovered.facts_applied = replay.facts_applied
    return recovered


def _journal_of(
    data_dir: Path, meta: dict[str, str], checkpoint: int, skipped_gaps: list[Gap]
) -> JournalScan:
    known_end, flaw = read_end(data_dir)  # before the journal, to which a broker may be writing
    stores = [] if "store" not in meta else [meta["store"], *meta.get(STORES_BEFORE, "").split()]
    if known_end is not None and stores and known_end.store not in stores:
        known_end, flaw = None, f"{RECORD_NAME} is of another store and left out"
    journal = JournalScan(data_dir / FOLDER_NAME, checkpoint, skipped_gaps, stores, known_end)
    if flaw is not None:
        journal.damage.append(flaw)
    return journal


def _next_number(connection: sqlite3.Connection, meta: dict[str, str], key: str, table: str) -> int:
    highest = connection.execute(f"SELECT max(number) FROM {table}").fetchone()[0] or 0
    return max(int(meta.get(key, "1")), int(highest) + 1)


def _complete(connection: sqlite3.Connection, state: State) -> None:
    """Complete the state after the replay: set the resend order, messages and queue sizes."""
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
    """Return a sort key for resending the packets of deliveries.

    PUBRELs come first, in the order of their PUBRECs [MQTT-4.6.0-4]. PUBLISH packets follow, in the
    order of the queue.
    """
    return -delivery.state, delivery.pubrec or delivery.position
