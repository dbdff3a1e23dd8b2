"""Functions that run concurrently."""

from threading import Barrier

import pytest

from cloud_jobs.limits import QUERIES_AT_A_TIME_MAX
from cloud_jobs.spark.side_by_side import side_by_side

SECONDS_MAX = 30


def test_as_much_as_is_allowed_is_done_at_a_time_and_returns_what_it_found() -> None:
    met = Barrier(QUERIES_AT_A_TIME_MAX)

    def wait(number: int) -> int:
        met.wait(SECONDS_MAX)
        return number

    with side_by_side() as submit:
        found = [submit(wait, number) for number in range(QUERIES_AT_A_TIME_MAX)]
    assert [future.result() for future in found] == [*range(QUERIES_AT_A_TIME_MAX)]


def fail(why: str) -> None:
    raise ValueError(why)


def test_what_fails_is_raised_when_all_the_rest_is_done() -> None:
    done: list[int] = []

    def some_fail() -> None:
        with side_by_side() as submit:
            submit(fail, "first")
            submit(done.append, 1)
            submit(fail, "second")
            submit(done.append, 2)

    with pytest.raises(ValueError, match="first"):
        some_fail()
    assert sorted(done) == [1, 2]


def test_a_block_that_fails_is_left_when_what_it_began_is_done() -> None:
    done: list[int] = []

    def begin_and_fail() -> None:
        with side_by_side() as submit:
            submit(done.append, 1)
            fail("of the block")

    with pytest.raises(ValueError, match="of the block"):
        begin_and_fail()
    assert done == [1]
