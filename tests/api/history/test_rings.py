"""The choice of the ring that serves a request."""

import pytest

from api.history.rings import DAY, HOUR, MONTH, RINGS, Ring, ring_for


@pytest.mark.parametrize(
    ("seconds", "ring"), [(60, HOUR), (3600, HOUR), (3601, DAY), (86_400, DAY), (10**7, MONTH)]
)
def test_the_finest_ring_that_is_long_enough_is_taken(seconds: int, ring: Ring) -> None:
    assert ring_for(step_seconds=None, span_seconds=seconds) is ring


@pytest.mark.parametrize("ring", RINGS)
def test_a_step_chooses_its_ring(ring: Ring) -> None:
    assert ring_for(step_seconds=ring.step_seconds, span_seconds=10**9) is ring


def test_all_rings_together_take_no_more_than_100_mb_of_disk() -> None:
    assert sum(ring.bytes_max for ring in RINGS) <= 100_000_000
    for ring in (DAY, MONTH):
        assert (ring.files_max - 1) * ring.file_steps >= ring.steps, "a full ring while one fills"
