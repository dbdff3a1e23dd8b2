"""docs/formats/journal.md and docs/formats/session-log.md agree with the code.

The former describes what the recorder writes, and the latter the events that the journal's reader
returns.
"""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from gateway.broker.core.gateway_time import ClockQuality
from gateway.broker.core.records import layout
from gateway.broker.core.records.blob import Blob
from gateway.broker.core.records.events import Event, decode
from gateway.broker.core.records.kinds import (
    CloseReason,
    DropReason,
    EndReason,
    Observation,
    Origin,
    RecordKind,
    StartKind,
    WillClearReason,
)
from gateway.broker.core.records.recorder import Recorder
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.message import Delivery, Held, Message, Will
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription
from gateway.broker.core.state import State
from gateway.broker.core.word import Word
from gateway.broker.server.control.operations import RECORDED, REPORTED
from gateway.broker.store.database import create_tables
from gateway.broker.store.journal_files import FRAME, HEADER_BYTES
from gateway.broker.store.tables import TABLES
from gateway.broker.wire.decoder import Decoder

FORMATS = Path(__file__).resolve().parents[2] / "docs" / "formats"
JOURNAL = (FORMATS / "journal.md").read_text()
SESSION_LOG = (FORMATS / "session-log.md").read_text()
ENVELOPE = {"event", "session", "client_id"}
MESSAGE_BYTES = 19
# These observations have numbers as text.
SUBJECTS = {Observation.LOG_TRUNCATED: "1"}
DETAILS = {Observation.LOG_TRUNCATED: "2", Observation.CLOCK_STEPPED: "3"}

CONNECTION = Connection("10.0.0.7:5", Decoder(1_000), anonymous=True, now=0.0)
SESSION = Session(1, "gps", True)
MESSAGE = Message(5, "t", b"\x00\x01t", b"21.5", 2, False)
HELD = Held(SESSION, 7, MESSAGE, 0.0)
DELIVERY = Delivery(SESSION, MESSAGE, 5, 2, 0)

Write = Callable[[Recorder], None]
# For each method of the recorder: its arguments, and the number of bytes of text after the fixed
# part of the record.
CALLS: dict[str, tuple[tuple[object, ...], int]] = {
    "session_opened": ((SESSION, CONNECTION), 10),
    "session_resumed": ((SESSION, CONNECTION), 10),
    "session_closed": ((SESSION, CloseReason.DISCONNECT, 1), 0),
    "session_ended": ((SESSION, EndReason.EXPIRED), 0),
    "session_owned": ((SESSION, "alice"), 5),
    "expiry_changed": ((SESSION, 60), 0),
    "subscribed": ((SESSION, Subscription("a/b", 1, 0)), 3),
    "unsubscribed": ((SESSION, "a/b"), 3),
    "message_held": ((HELD,), 5),
    "duplicate_suppressed": ((HELD,), 0),
    "message_released": ((HELD, 1), 0),
    "message_abandoned": ((HELD,), 0),
    "message_published": ((SESSION, MESSAGE, Origin.CLIENT, 1), 5),
    "message_queued": ((DELIVERY, 8), 0),
    "delivery_started": ((DELIVERY, 9), 0),
    "delivery_resent": ((DELIVERY, False), 0),
    "delivery_received": ((DELIVERY,), 0),
    "delivery_completed": ((DELIVERY,), 0),
    "delivered_at_qos0": ((DELIVERY,), 0),
    "message_dropped": ((SESSION, 5, DropReason.QUEUE_FULL), 0),
    "waiting_dropped": ((DELIVERY, DropReason.EXPIRED), 0),
    "retained_set": ((MESSAGE,), 1),
    "retained_cleared": (("t",), 1),
    "will_set": ((SESSION, Will("t", b"\x00\x01t", b"gone", 1, False)), 5),
    "will_cleared": ((SESSION, WillClearReason.DISCONNECT), 0),
    "observed": ((None, Observation.LIMIT_HIT, "max", "more"), 7),
    "broker_started": ((StartKind.NEW, "0.1.0", "ab"), 7),
    "broker_stopped": ((), 0),
}


def blob_of(write: Write) -> bytes:
    recorder = Recorder(State([]), b"s" * 8, b"b" * 8, 1, 1)
    # A batch contains a name only once, and all these batches have the same number.
    SESSION.named_in_batch = -1
    write(recorder)
    blob = recorder.seal(1_700_000_000_000, ClockQuality.UNKNOWN)
    assert blob is not None
    return blob


def observe(event: Observation, recorder: Recorder) -> None:
    recorder.observed(None, event, SUBJECTS.get(event, "s"), DETAILS.get(event, "d"))


def write_of(method: str) -> Write:
    arguments, _ = CALLS[method]
    return lambda recorder: getattr(recorder, method)(*arguments)


def events_made() -> dict[str, Event]:
    """Return one event for each name of an event that the reader can return."""
    writes = [write_of(method) for method in CALLS if method != "observed"]
    writes += [partial(observe, event) for event in Observation]
    made: dict[str, Event] = {}
    for write in writes:
        for event in decode(blob_of(write)).events:
            made.setdefault(str(event["event"]), event)
    return made


def rows_of(text: str, heading: str) -> list[list[str]]:
    """Return the cells of the first table after a heading."""
    rows: list[list[str]] = []
    for line in text[text.index(f"\n{heading}\n") :].splitlines()[2:]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split(" |")])
        elif rows:
            break
    return rows[2:]


def named_in(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_every_fact_of_the_recorder_is_tried_here() -> None:
    public = {name for name in vars(Recorder) if not name.startswith("_")}
    assert set(CALLS) == public


def test_the_session_log_has_the_events_that_the_journal_can_make_and_no_others() -> None:
    documented = {named_in(row[0])[0] for row in rows_of(SESSION_LOG, "## Events")}
    assert documented == set(events_made())


def test_the_session_log_has_the_fields_of_each_event() -> None:
    made = events_made()
    before: set[str] = set()
    for row in rows_of(SESSION_LOG, "## Events"):
        event = made[named_in(row[0])[0]]
        outside = re.sub(r"\([^)]*\)", "", row[1])
        fields = before if outside == "as above" else set(named_in(outside))
        if "payload fields" in outside:
            fields.add("payload")
        assert fields == set(event) - ENVELOPE, event["event"]
        before = fields


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ("session_closed", CloseReason),
        ("session_ended", EndReason),
        ("message_dropped", DropReason),
        ("will_cleared", WillClearReason),
        ("broker_started", StartKind),
        ("message_published", Origin),
    ],
)
def test_the_session_log_has_every_word_that_a_field_can_hold(
    event: str, words: type[Word]
) -> None:
    row = next(row for row in rows_of(SESSION_LOG, "## Events") if named_in(row[0]) == [event])
    lists = re.findall(r"\(([^)]*)\)", " ".join(row[1:]))
    assert [tuple(named_in(each)) for each in lists] == [tuple(each.word for each in words)]


def test_the_session_log_has_every_action_of_an_operator() -> None:
    row = next(row for row in rows_of(SESSION_LOG, "## Events") if named_in(row[0]) == ["operated"])
    actions = re.search(r"\(([^)]*)\)", row[1])
    assert actions is not None
    # The command `operated` reports one of the actions in `REPORTED`.
    assert set(named_in(actions[1])) == (RECORDED - {"operated"}) | REPORTED


def documented_records() -> dict[int, list[str]]:
    return {int(row[0]): row for row in rows_of(JOURNAL, "## Records")}


def test_the_journal_page_has_every_kind_of_record_under_its_name() -> None:
    kinds = {kind.value: kind.name for kind in RecordKind}
    assert {kind: named_in(row[1])[0] for kind, row in documented_records().items()} == kinds


@pytest.mark.parametrize("method", CALLS)
def test_the_journal_page_gives_the_length_of_a_record(method: str) -> None:
    blob = Blob(blob_of(write_of(method)))
    row = documented_records()[blob.data[blob.records_at]]
    _, texts_bytes = CALLS[method]
    assert blob.records_end - blob.records_at == int(row[2]) + texts_bytes


def test_the_fields_of_a_record_on_the_journal_page_add_up_to_its_length() -> None:
    for row in documented_records().values():
        has_session = int(row[0]) <= 24 and "no session" not in row[3]
        fields = re.sub(r"\([^)]*\)", "", row[3]).replace("no session", "")
        widths = [int(each) for each in re.findall(r" (\d+)\b(?=\s*(?:·|;|$))", fields)]
        length = 1 + 4 * has_session + sum(widths) + MESSAGE_BYTES * ("MESSAGE" in fields)
        assert length == int(row[2]), row


def test_the_example_on_the_journal_page_is_a_blob() -> None:
    example = JOURNAL[JOURNAL.index("### Example") : JOURNAL.index("## Tables")]
    lines = re.findall(r"^    ([0-9a-f ]+)$", example, re.MULTILINE)
    batch = decode(bytes.fromhex("".join(lines)))
    assert (batch.store, batch.boot) == ("77ab0011223344ff", "0f3a5566778899aa")
    assert (batch.number, batch.first_sequence, batch.clock) == (9, 42, "synchronised")
    reported = [(event["event"], event["client_id"]) for event in batch.events]
    assert reported == [
        (name, "gps") for name in ("session_opened", "message_held", "message_released")
    ]
    assert (batch.events[1]["topic"], batch.events[1]["payload"]) == ("sensors/t", b"21.5")


@pytest.mark.parametrize(
    ("heading", "size_bytes"),
    [
        ("A file begins with", HEADER_BYTES),
        ("continues with frames", FRAME.size),
        ("## A blob", layout.BLOB_HEADER.size),
    ],
)
def test_each_header_on_the_journal_page_is_as_long_as_the_header(
    heading: str, size_bytes: int
) -> None:
    drawing = JOURNAL.split(heading)[1].split("```")[1]
    drawn = re.findall(r"^ *(\d+)  \S.*?  +(\d+)(?:  .*)?$", drawing, re.MULTILINE)
    at = 0
    for offset, width in drawn:
        assert int(offset) == at
        at += int(width)
    assert at == size_bytes


def test_the_journal_page_has_every_table_with_its_columns() -> None:
    documented = {named_in(row[0])[0]: named_in(row[1]) for row in rows_of(JOURNAL, "## Tables")}
    with closing(sqlite3.connect(":memory:")) as connection:
        create_tables(connection)
        schema = {
            table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            for table in TABLES
        }
    assert documented == schema
