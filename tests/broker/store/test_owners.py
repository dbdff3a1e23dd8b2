"""Sessions from formats without users have an unknown owner; sessions from later formats do not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.broker.store import owners
from tests.broker.core.harness import Harness


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    made = Harness(tmp_path)
    yield made
    made.close()


def set_row(harness: Harness, value: str) -> None:
    harness.store._files.writer.execute(
        "INSERT OR REPLACE INTO meta VALUES (?, ?)", (owners.KEY, value)
    )


def unknown_in(harness: Harness) -> list[str]:
    return sorted(
        session.client_id
        for session in harness.broker.state.sessions.values()
        if session.owner_is_unknown
    )


@pytest.mark.parametrize("cut", [False, True])
def test_only_sessions_that_a_migration_found_are_marked_at_every_start(
    harness: Harness, cut: bool
) -> None:
    again = harness.cut if cut else harness.restart
    harness.connect("old")
    harness.connect("owned")
    harness.broker._recorder.session_owned(harness.session("owned"), "anna")
    harness.commit()
    set_row(harness, owners.ALL)
    again()
    assert unknown_in(harness) == ["old"]
    harness.connect("new")
    again()
    assert unknown_in(harness) == ["old"]


def test_a_session_that_a_user_came_back_to_is_that_user_s(harness: Harness) -> None:
    harness.connect("old")
    set_row(harness, owners.ALL)
    harness.restart()
    harness.broker._recorder.session_owned(harness.session("old"), "anna")
    assert unknown_in(harness) == []
    harness.commit()
    harness.restart()
    assert unknown_in(harness) == []
    assert harness.session("old").username == "anna"


def test_a_store_that_was_always_of_today_marks_none(tmp_path: Path) -> None:
    harness = Harness(tmp_path / "own")
    harness.connect("c")
    harness.restart()
    assert unknown_in(harness) == []
    harness.close()
