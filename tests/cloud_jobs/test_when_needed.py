"""A session is started by the first who needs it, once, and ended by who made it possible."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from cloud_jobs.when_needed import WhenNeeded, session_when_needed


class Starts:
    """Starts sessions that are only told apart; what happened, in order."""

    def __init__(self) -> None:
        self.happened: list[str] = []

    @contextmanager
    def __call__(self) -> Iterator[SparkSession]:
        self.happened.append("started")
        yield cast("Any", object())
        self.happened.append("stopped")


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> Starts:
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    return Starts()


def test_no_session_is_started_for_who_needs_none(starts: Starts) -> None:
    with session_when_needed(starts, is_needed=False) as session:
        assert isinstance(session, WhenNeeded)
        with session.prepared(lambda _: starts.happened.append("prepared")):
            pass
    assert starts.happened == []


def test_threads_that_need_one_at_the_same_time_have_the_same(starts: Starts) -> None:
    with session_when_needed(starts, is_needed=False) as session:
        assert isinstance(session, WhenNeeded)
        with ThreadPoolExecutor(4) as threads:
            found = {*threads.map(lambda _: id(session()), range(8))}
        assert len(found) == 1
        assert starts.happened == ["started"]
    assert starts.happened == ["started", "stopped"]


def test_a_session_is_prepared_when_it_starts_or_where_it_runs_already(starts: Starts) -> None:
    def prepare(_: SparkSession) -> None:
        starts.happened.append("prepared")

    with session_when_needed(starts, is_needed=False) as session:
        assert isinstance(session, WhenNeeded)
        with session.prepared(prepare):
            assert starts.happened == []
            session()
            session()
        assert starts.happened == ["started", "prepared"]
        with session.prepared(prepare):
            assert starts.happened == ["started", "prepared", "prepared"]


@pytest.mark.parametrize("variable", ["SPARK_REMOTE", "PYSPARK_GATEWAY_PORT", None])
def test_a_session_of_others_or_for_other_places_is_taken_at_once(
    variable: str | None, starts: Starts, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable is not None:
        monkeypatch.setenv(variable, "1")
    with session_when_needed(starts, is_needed=variable is None) as session:
        assert not isinstance(session, WhenNeeded)
    assert starts.happened == ["started", "stopped"]
