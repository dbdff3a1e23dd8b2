"""Concurrent queries in one Spark session.

While one query waits for its tasks, Spark plans another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol, TypeVar

from cloud_jobs.limits import QUERIES_AT_A_TIME_MAX

T = TypeVar("T")


class Submit(Protocol):
    """Type of a function that runs another function in a thread and returns its future."""

    def __call__(self, do: Callable[..., T], /, *arguments: object) -> Future[T]:
        """Run a function with arguments in another thread. Return its future without waiting."""


@contextmanager
def side_by_side(threads: int = QUERIES_AT_A_TIME_MAX) -> Iterator[Submit]:
    """Yield a function that runs up to `threads` other functions concurrently.

    After the block, wait for all of these functions, and raise the first exception, if any.
    """
    futures: list[Future[object]] = []

    with ThreadPoolExecutor(threads, "query") as queries:

        def submit(do: Callable[..., T], /, *arguments: object) -> Future[T]:
            future = queries.submit(do, *arguments)
            futures.append(future)  # type: ignore[arg-type]  # it is read only
            return future

        yield submit
    for future in futures:
        future.result()
