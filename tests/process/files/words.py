"""The smallest possible queue in SQLite."""

from typing import ClassVar

from gateway.process.files.queue_database import QueueDatabase


class Words(QueueDatabase):
    """A queue that stores only properties."""

    migration_set = "words"
    migrations_known: ClassVar[tuple[str, ...]] = ("m001_properties",)
    columns_of: ClassVar[dict[str, tuple[str, ...]]] = {"properties": ("name", "value")}

    def _migrate(self) -> None:
        execute = self._connection.execute
        execute("CREATE TABLE properties (name TEXT PRIMARY KEY, value TEXT)")
        execute("CREATE TABLE _sqlite_migrations (migration_set TEXT, name TEXT)")
        execute("INSERT INTO _sqlite_migrations VALUES ('words', 'm001_properties')")

    def _load(self) -> None:
        self.last = self.property("word")

    def write(self, word: str) -> None:
        self.begin()
        self.set_property("word", word)


class OlderWords(Words):
    """A file from a time when the program had other migrations."""

    migrations_known = ("m001_old", "m002_old")

    def _migrate(self) -> None:
        super()._migrate()
        execute = self._connection.execute
        execute("UPDATE _sqlite_migrations SET name = 'm001_old'")
        execute("INSERT INTO _sqlite_migrations VALUES ('words', 'm002_old')")


class NewerWords(Words):
    def _migrate(self) -> None:
        super()._migrate()
        self._connection.execute("INSERT INTO _sqlite_migrations VALUES ('words', 'm002_more')")
