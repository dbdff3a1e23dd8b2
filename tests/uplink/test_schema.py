"""The tables in the uplink's file, which other programs may read."""

import sqlite3
from pathlib import Path

from gateway.uplink.schema import migrate


def test_a_new_file_gets_every_table_once(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "u.db", isolation_level=None)
    migrate(connection)
    migrate(connection)
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    assert {"messages_in", "messages_out", "received", "properties"} <= tables
    connection.close()
