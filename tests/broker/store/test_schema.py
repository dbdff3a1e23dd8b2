"""The tables, and that their module is loaded only by a start that creates them."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

from gateway.broker.store.database import DATABASE_NAME, connect, create_tables
from gateway.broker.store.tables import MESSAGE_TABLES, SESSION_TABLES, STATEMENTS, TABLES
from gateway.process.files.damaged_database import definitions_of

ROOT = Path(__file__).parents[3]


START = """
import sys
import gateway.broker.server.main
from pathlib import Path
from tests.broker.core.harness import Harness
Harness(Path(sys.argv[1])).close()
print("sqlite_utils" in sys.modules)
"""


def test_only_a_start_that_creates_tables_takes_memory_for_it(tmp_path: Path) -> None:
    loaded = [
        subprocess.run(
            [sys.executable, "-c", START, tmp_path / "data"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for _ in range(2)
    ]
    assert loaded == ["True", "False"]


def test_a_database_with_tables_is_not_written_again(tmp_path: Path) -> None:
    with closing(connect(tmp_path / DATABASE_NAME)) as connection:
        create_tables(connection)
        before = connection.total_changes
        schema = connection.execute("SELECT * FROM sqlite_schema").fetchall()
        create_tables(connection)
        assert connection.total_changes == before
        assert connection.execute("SELECT * FROM sqlite_schema").fetchall() == schema


def test_every_table_is_made_with_the_columns_that_its_rows_belong_by(tmp_path: Path) -> None:
    with closing(connect(tmp_path / DATABASE_NAME)) as connection:
        create_tables(connection)
        columns = {
            table: {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
            for table in TABLES
        }
    assert all(columns.values())
    assert all("message" in columns[table] for table in MESSAGE_TABLES)
    assert all({"session", "number"} & columns[table] for table in SESSION_TABLES)
    assert "username" in columns["sessions"]


def test_sqlite_stores_the_statements_as_they_are(tmp_path: Path) -> None:
    with closing(connect(tmp_path / DATABASE_NAME)) as connection:
        create_tables(connection)
        assert {each.encode() for each in STATEMENTS} <= {
            each.sql for each in definitions_of(connection)
        }
