"""The supported formats of the outbox's database."""

from firmware_bridge.outbox.formats import MIGRATIONS_KNOWN
from firmware_bridge.outbox.schema import MIGRATIONS
from sqlite_utils import Database


def test_the_migrations_are_those_that_a_start_knows_without_loading_them() -> None:
    pending = MIGRATIONS.pending(Database(memory=True))
    assert tuple(each.name for each in pending) == MIGRATIONS_KNOWN
