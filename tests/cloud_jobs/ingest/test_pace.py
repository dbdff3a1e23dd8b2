"""The rate is an average over the whole run, and the remaining time is estimated from it."""

from __future__ import annotations

import pytest

from cloud_jobs.ingest.pace import Pace


def test_the_rest_is_estimated_by_what_was_done_so_far() -> None:
    pace = Pace(began=100.0)
    first = pace.line(110.0, segments=500, file_bytes=20_000_000, waiting=1000)
    assert (
        first == "500 segments, 20.0 MB in 10 s (50.0 segments/s, 2.0 MB/s); 1,000 wait, about 20 s"
    )
    last = pace.line(120.0, segments=500, file_bytes=20_000_000, waiting=0)
    assert last == "1,000 segments, 40.0 MB in 20 s (50.0 segments/s, 2.0 MB/s)"


@pytest.mark.parametrize(
    ("waiting", "estimate"), [(8_900, "89 s"), (60_000, "10 min"), (10**6, "2.8 h")]
)
def test_an_estimate_has_the_unit_that_a_person_reads(waiting: int, estimate: str) -> None:
    line = Pace(began=0.0).line(1.0, segments=100, file_bytes=1, waiting=waiting)
    assert line.endswith(f"about {estimate}")
