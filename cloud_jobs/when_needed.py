"""A Spark session that starts when it is first asked for.

Tables in a directory are asked and committed to without Spark, so that a run with little to do may
end without a JVM, which takes ten seconds and more to start.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import Lock
from typing import TypeAlias

from pyspark.sql import SparkSession

Start: TypeAlias = Callable[[], AbstractContextManager[SparkSession]]
Prepare: TypeAlias = Callable[[SparkSession], None]


class WhenNeeded:
    """Gives the session to who calls it; any thread may."""

    def __init__(self, start: Start, ending: ExitStack) -> None:
        self._start = start
        self._ending = ending
        self._starting = Lock()
        self._session: SparkSession | None = None
        self._prepared: list[Prepare] = []

    def __call__(self) -> SparkSession:
        """Return the session, started with the first call. Raises IngestError."""
        with self._starting:
            if self._session is None:
                session = self._ending.enter_context(self._start())
                for prepare in self._prepared:
                    prepare(session)
                self._session = session
            return self._session

    @contextmanager
    def prepared(self, prepare: Prepare) -> Iterator[None]:
        """Have a session prepared while the block lasts: now, or when it starts."""
        with self._starting:
            if self._session is not None:
                prepare(self._session)
            self._prepared.append(prepare)
        try:
            yield
        finally:
            with self._starting:
                self._prepared.remove(prepare)


Session: TypeAlias = SparkSession | WhenNeeded


@contextmanager
def session_when_needed(start: Start, *, is_needed: bool) -> Iterator[Session]:
    """Yield the session of ``start``, or what starts it later where that is not known.

    A session that others have prepared (spark-submit, a server of Spark Connect) is taken: it alone
    knows where files are.
    """
    others = ("SPARK_REMOTE", "PYSPARK_GATEWAY_PORT")
    is_there = SparkSession.getActiveSession() is not None
    if is_needed or is_there or any(name in os.environ for name in others):
        with start() as session:
            yield session
        return
    with ExitStack() as ending:
        yield WhenNeeded(start, ending)
