"""A token bucket: a rate that allows bursts."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.core.token_bucket import TokenBucket


def test_a_burst_is_taken_together_and_then_as_many_as_the_rate_brings() -> None:
    bucket = TokenBucket(2.0, 3.0, 100.0)
    assert [bucket.take(100.0) for _ in range(4)] == [True, True, True, False]
    assert [bucket.take(100.5), bucket.take(100.5)] == [True, False]
    assert [bucket.has_token(100.5), bucket.has_token(101.0), bucket.take(101.0)] == [
        False,
        True,
        True,
    ]
    assert [bucket.take(1_000.0) for _ in range(4)] == [True, True, True, False]


def test_what_is_overdrawn_is_owed_for_as_long_as_the_rate_takes_to_bring_it() -> None:
    bucket = TokenBucket(10.0, 20.0, 0.0)
    assert bucket.spend(15, 0.0) == 0.0
    assert bucket.spend(25, 0.0) == 2.0
    assert bucket.spend(0, 1.0) == 1.0
    assert bucket.spend(0, 2.0) == 0.0


def test_a_bucket_is_full_when_nothing_was_taken_for_long_enough() -> None:
    bucket = TokenBucket(1.0, 2.0, 0.0)
    assert bucket.is_full(0.0)
    assert bucket.take(0.0)
    assert not bucket.is_full(0.5)
    assert bucket.is_full(1.0)


@given(st.lists(st.tuples(st.floats(0, 10), st.integers(0, 50))), st.integers(1, 100))
def test_no_more_is_granted_than_the_burst_and_what_the_time_brought(
    steps: list[tuple[float, int]], rate: int
) -> None:
    bucket = TokenBucket(float(rate), 2.0 * rate, 0.0)
    now, granted = 0.0, 0
    for seconds, asked in steps:
        now += seconds
        granted += sum(bucket.take(now) for _ in range(asked))
        assert granted <= 2 * rate + now * rate + 0.001
