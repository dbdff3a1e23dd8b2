"""Databases of earlier formats are migrated without losing a row."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gateway.broker.core.records.kinds import StartKind
from gateway.broker.store import migration
from gateway.broker.store.database import DATABASE_NAME, RUNNING_NAME
from gateway.broker.store.journal_files import FOLDER_NAME, journal_files
from tests.broker.core.harness import Harness
from tests.broker.store.data_directories import GOLDEN, golden, made, overwrite_page


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_migration_that_is_cut_short_anywhere_is_done_again(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = json.loads((GOLDEN / f"{number}.json").read_text())
    steps = 0
    while True:
        data = golden(number, tmp_path / str(steps))
        left = steps

        def counted(*_: object) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise KeyboardInterrupt

        def cut_at(function: object) -> object:
            def stepping(*arguments: object, **named: object) -> object:
                counted()
                result = function(*arguments, **named)  # type: ignore[operator]
                counted()
                return result

            return stepping

        with monkeypatch.context() as patch:
            for name in ("_write_file", "_add_mqtt5_columns", "fsync_folder"):
                patch.setattr(migration, name, cut_at(getattr(migration, name)))
            patch.setattr(Path, "rename", cut_at(Path.rename))
            try:
                Harness(data).close()
                was_cut = False
            except KeyboardInterrupt:
                was_cut = True
        harness = Harness(data)
        assert harness.damage == [], steps
        assert set(expected["subscribed"]) <= set(harness.broker.state.sessions)
        assert set(harness.broker.state.retained) == set(expected["retained"])
        harness.close()
        shutil.rmtree(tmp_path / str(steps))
        if not was_cut:
            break
        steps += 1
    assert steps > 4


def test_rows_that_a_version_without_the_table_went_on_without_are_kept_and_reported(
    tmp_path: Path,
) -> None:
    data = golden(3, tmp_path)
    other = tmp_path / "other"
    made(other)
    shutil.copytree(other / FOLDER_NAME, data / FOLDER_NAME)
    harness = Harness(data)
    assert harness.recovery is StartKind.SALVAGED
    assert any("were not applied" in reported for reported in harness.damage)
    harness.close()
    with closing(sqlite3.connect(data / DATABASE_NAME)) as connection:
        assert connection.execute("SELECT count(*) FROM journal_not_applied").fetchone()[0] == 45
    again = Harness(data)
    assert not any("were not applied" in reported for reported in again.damage)
    again.close()


def test_the_journal_of_a_damaged_database_of_an_earlier_format_is_saved_with_it(
    tmp_path: Path,
) -> None:
    data = golden(3, tmp_path)
    overwrite_page(data, "queue_message", b"\xff")
    harness = Harness(data)
    assert harness.recovery is StartKind.SALVAGED
    assert {"latecomer", "away", "busy", "owned"} <= set(harness.broker.state.sessions)
    assert journal_files(data / FOLDER_NAME)[0].first_sequence == 1
    harness.close()


def test_a_damaged_list_of_migrations_is_found_by_the_start_that_needs_it(tmp_path: Path) -> None:
    data = golden(4, tmp_path)
    # As after a clean stop: after a crash, the check of every page would find the damage first.
    (data / RUNNING_NAME).unlink(missing_ok=True)
    overwrite_page(data, "_sqlite_migrations", b"\0")
    harness = Harness(data)
    assert harness.recovery is StartKind.SALVAGED
    assert any("it cannot be loaded" in reported for reported in harness.damage)
    assert {"latecomer", "away", "busy", "owned"} <= set(harness.broker.state.sessions)
    harness.close()
