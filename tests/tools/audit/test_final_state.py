"""Exchanges that are still open at the end of the log, compared with the database."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gateway.broker.wire.packets import Publish, Pubrel
from tests.broker.core.harness import Harness
from tests.broker.store.journal_damage import flip, frames_in
from tests.tools.audit.test_data_directory import audit_of


@pytest.fixture
def left_open(tmp_path: Path) -> Path:
    """Return a data directory in which message 1 is held, 2 is in flight and 3 to 5 are queued.

    The subscriber's window is 1.
    """
    harness = Harness(tmp_path)
    harness.limits.max_inflight = 1
    harness.subscriber("watch", "t", 2)
    client = harness.connect("sensor")
    for number in range(1, 6):
        client.send(Publish("t", b"x", 2, False, False, number))
    client.send(*(Pubrel(number) for number in range(2, 6)))
    harness.commit()
    harness.checkpoint()
    harness.close()
    return tmp_path


def test_what_the_log_leaves_open_is_in_the_database(left_open: Path) -> None:
    findings = audit_of(left_open)
    assert findings.verdict == "ok", findings.exceptions
    counts = findings.counts
    assert (counts.held_open, counts.in_flight_open, counts.queued_open) == (1, 1, 3)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("DELETE FROM inbound", 1),
        ("DELETE FROM outbound", 2),
        ("DELETE FROM queue WHERE message = 4", 4),
        ("UPDATE outbound SET message = 5", 2),
        ("INSERT INTO inbound SELECT session, 9, message FROM inbound", 1),
    ],
)
def test_a_message_that_the_database_lost_or_made_up_is_named(
    left_open: Path, damage: str, message: int
) -> None:
    with closing(sqlite3.connect(left_open / "broker.db")) as connection, connection:
        connection.execute(damage)
    (found,) = audit_of(left_open).exceptions
    assert (found.verdict, found.check, found.message) == ("violation", "state", message)
    assert found.segment == "database"


def test_a_session_that_the_database_forgot_is_named_with_all_its_messages(
    left_open: Path,
) -> None:
    with closing(sqlite3.connect(left_open / "broker.db")) as connection, connection:
        connection.execute("DELETE FROM sessions WHERE client_id = 'watch'")
    findings = audit_of(left_open)
    assert {one.message for one in findings.exceptions} == {2, 3, 4, 5}
    assert {one.check for one in findings.exceptions} == {"state"}


@pytest.mark.parametrize("number", [0, -2])
def test_a_damaged_batch_of_the_journal_makes_what_was_open_inconclusive(
    left_open: Path, number: int
) -> None:
    path, offset, length = frames_in(left_open)[number]
    flip(path, offset + length // 2)
    assert audit_of(left_open).verdict == "inconclusive"


def test_an_audit_changes_nothing(left_open: Path) -> None:
    before = (left_open / "broker.db").read_bytes()
    audit_of(left_open)
    assert (left_open / "broker.db").read_bytes() == before
