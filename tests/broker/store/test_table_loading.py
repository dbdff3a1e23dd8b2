"""Messages are loaded from the tables by their numbers."""

from contextlib import closing
from pathlib import Path

from gateway.broker.store.database import DATABASE_NAME, connect, migrate
from gateway.broker.store.table_loading import CONTENTS_PER_QUERY, load_contents


def test_contents_are_loaded_by_number_in_more_than_one_query(tmp_path: Path) -> None:
    numbers = range(1, 2 * CONTENTS_PER_QUERY + 10)
    with closing(connect(tmp_path / DATABASE_NAME)) as connection:
        migrate(connection)
        connection.executemany(
            "INSERT INTO messages (number, topic, payload, flags) VALUES (?, 't', ?, 1)",
            [(number, b"%d" % number) for number in numbers if number % 7],
        )
        loaded = load_contents(connection, list(numbers))
    assert {number: message.payload for number, message in loaded.items()} == {
        number: b"%d" % number for number in numbers if number % 7
    }
