"""Formats of the data directory: older and newer ones are refused."""

import sqlite3
from contextlib import closing
from pathlib import Path
from zlib import crc32

import pytest

from gateway.broker.core.records import layout
from gateway.broker.core.records.kinds import StartKind
from gateway.broker.store import schema
from gateway.broker.store.database import DATABASE_NAME, SALVAGED_NAME, StoreUnavailable
from gateway.broker.store.formats import FORMAT, OtherFormat, format_of
from gateway.broker.store.journal_files import HEADER_BYTES
from gateway.broker.store.journal_reader import JournalReader
from gateway.tools.audit.run import Audit
from tests.broker.core.harness import Harness
from tests.broker.store.data_directories import made
from tests.broker.store.journal_blobs import blob_of
from tests.broker.store.journal_damage import frames_in, newest_file

NEWER = "start the newer version again"
OLDER = "development version before 0.1.0 wrote it; move the data directory away and start with an"


def contents(data_dir: Path) -> dict[str, bytes]:
    """Return all files of a data directory, except those that SQLite creates on reading."""
    return {
        str(path.relative_to(data_dir)): path.read_bytes()
        for path in sorted(data_dir.rglob("*"))
        if path.is_file() and not path.name.endswith(("-shm", "-wal", ".lock"))
    }


def set_format(data_dir: Path, value: str) -> None:
    """Give a database another format, and the columns of an earlier one."""
    with closing(sqlite3.connect(data_dir / DATABASE_NAME)) as connection, connection:
        if value.isdecimal() and int(value) < FORMAT:
            connection.execute("ALTER TABLE retained DROP COLUMN source")
        connection.execute("UPDATE meta SET value = ? WHERE key = 'format'", (value,))


def rewrite_header(path: Path, magic: bytes) -> None:
    head = magic + path.read_bytes()[4 : HEADER_BYTES - 4]
    with path.open("r+b") as file:
        file.write(head + layout.CRC.pack(crc32(head)))


def append_blob(data_dir: Path, magic: bytes) -> None:
    """Append a blob of another format to a new journal."""
    harness = Harness(data_dir)
    harness.connect("c")
    next_sequence = harness.broker.batch.next_sequence
    body = magic + blob_of(next_sequence)[4:-4]
    harness.store.journal.append(next_sequence, body + layout.CRC.pack(crc32(body)))
    harness.close()


def refusal_of(data_dir: Path) -> str:
    before = contents(data_dir)
    with pytest.raises(StoreUnavailable) as refusal:
        Harness(data_dir)
    assert contents(data_dir) == before
    assert not (data_dir / "damaged").exists()
    return str(refusal.value)


def test_a_new_database_names_the_format_that_is_written(tmp_path: Path) -> None:
    made(tmp_path)
    with closing(sqlite3.connect(tmp_path / DATABASE_NAME)) as connection:
        assert format_of(connection) == str(FORMAT)


@pytest.mark.parametrize(
    ("found", "fix"),
    [
        (str(FORMAT + 1), NEWER),
        ("99", NEWER),
        ("of the future", NEWER),
        ("1", f"a {OLDER}"),
        (str(FORMAT - 1), f"a {OLDER}"),
    ],
)
def test_a_database_of_another_format_is_refused_in_a_sentence_and_left_alone(
    tmp_path: Path, found: str, fix: str
) -> None:
    made(tmp_path)
    set_format(tmp_path, found)
    sentence = refusal_of(tmp_path)
    understood = f"this version of Oncegate understands {FORMAT}"
    assert f"broker.db has format {found}, {understood}: {fix}" in sentence


def change_database(data_dir: Path, *statements: str) -> None:
    with closing(sqlite3.connect(data_dir / DATABASE_NAME)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


LOST_ROWS = [
    "DELETE FROM meta WHERE key = 'format'",
    "UPDATE meta SET key = 'gormat' WHERE key = 'format'",
    "ALTER TABLE meta RENAME TO meda",
]
WRONG_BITS = [
    f"UPDATE meta SET value = CAST(x'{code:02x}' AS TEXT) WHERE key = 'format'"  # noqa: S608
    for code in (ord(str(FORMAT)) ^ 1 << bit for bit in range(8))
]


@pytest.mark.parametrize("change", [*LOST_ROWS, *WRONG_BITS])
def test_a_current_database_that_lost_the_name_of_its_format_is_salvaged(
    tmp_path: Path, change: str
) -> None:
    made(tmp_path)
    change_database(tmp_path, change)
    harness = Harness(tmp_path)
    assert harness.recovery is StartKind.SALVAGED
    assert any("it does not name its format" in line for line in harness.damage)
    assert "later" in harness.broker.state.sessions
    harness.close()
    with closing(sqlite3.connect(tmp_path / DATABASE_NAME)) as connection:
        assert format_of(connection) == str(FORMAT)
    Harness(tmp_path).close()


@pytest.mark.parametrize("change", LOST_ROWS)
def test_a_database_of_former_tables_that_names_no_format_is_an_earlier_one(
    tmp_path: Path, change: str
) -> None:
    made(tmp_path)
    change_database(tmp_path, "ALTER TABLE retained DROP COLUMN source", change)
    sentence = refusal_of(tmp_path)
    assert "broker.db has format none" in sentence
    assert OLDER in sentence


def test_a_creation_of_the_tables_that_is_cut_short_leaves_no_database_without_a_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate = schema.migrate

    def cut(connection: sqlite3.Connection) -> None:
        migrate(connection)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(schema, "migrate", cut)
        with pytest.raises(KeyboardInterrupt):
            Harness(tmp_path)
    Harness(tmp_path).close()


@pytest.mark.parametrize("found", ["6", "8"])
def test_an_audit_refuses_a_database_of_another_format(tmp_path: Path, found: str) -> None:
    made(tmp_path)
    set_format(tmp_path, found)
    before = contents(tmp_path)
    with pytest.raises(OtherFormat, match=f"has format {found}"):
        Audit(tmp_path, lambda *_: None).data_directory(tmp_path, "gw")
    assert contents(tmp_path) == before


def test_an_interrupted_salvage_of_another_format_is_refused_and_left_alone(tmp_path: Path) -> None:
    made(tmp_path)
    set_format(tmp_path, "6")
    (tmp_path / DATABASE_NAME).rename(tmp_path / SALVAGED_NAME)
    assert "broker.db.salvaged has format 6" in refusal_of(tmp_path)


def test_a_journal_file_of_a_later_format_is_refused_in_a_sentence_and_left_alone(
    tmp_path: Path,
) -> None:
    made(tmp_path)
    rewrite_header(newest_file(tmp_path), b"OGF2")
    sentence = refusal_of(tmp_path)
    assert ".ogj has format OGF2, this version of Oncegate understands OGF1" in sentence


def test_a_magic_that_the_medium_changed_is_damage_and_no_later_format(tmp_path: Path) -> None:
    made(tmp_path)
    with newest_file(tmp_path).open("r+b") as file:
        file.write(b"OGF3")
    harness = Harness(tmp_path)
    assert harness.recovery is StartKind.SALVAGED
    assert "later" in harness.broker.state.sessions
    harness.close()


def test_a_blob_of_a_later_format_is_refused_in_a_sentence_and_never_skipped(
    tmp_path: Path,
) -> None:
    append_blob(tmp_path, b"OGJ9")
    files = len(frames_in(tmp_path))
    with pytest.raises(StoreUnavailable, match="has format OGJ9, this version of Oncegate"):
        Harness(tmp_path)
    assert len(frames_in_any(tmp_path)) == files
    # The export also waits for a version that supports the format.
    assert JournalReader(tmp_path).blobs_after(0, 1 << 20) == []


@pytest.mark.parametrize(("magic", "fix"), [(b"OGJ1", OLDER), (b"OGJ3", "the newer version")])
def test_a_journal_of_another_format_without_a_database_is_refused_and_left_alone(
    tmp_path: Path, magic: bytes, fix: str
) -> None:
    append_blob(tmp_path, magic)
    (tmp_path / DATABASE_NAME).unlink()
    sentence = refusal_of(tmp_path)
    assert (
        f".ogj has format {magic.decode()}, this version of Oncegate understands OGJ2" in sentence
    )
    assert fix in sentence


def frames_in_any(data_dir: Path) -> list[Path]:
    return [path for path, _, _ in frames_in(data_dir)]


def test_an_error_of_another_format_is_one_of_the_system() -> None:
    # Therefore the command line, the exporter and the audit print one line.
    assert issubclass(OtherFormat, OSError)
