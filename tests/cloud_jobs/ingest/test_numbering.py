"""Rows are numbered consecutively from the first number."""

from __future__ import annotations

import pyarrow as pa
import pytest

from cloud_jobs.ingest.numbering import counted


@pytest.mark.parametrize(("count", "first"), [(0, 5), (1, 0), (3, -1), (2, 2**62)])
def test_numbers_are_counted_from_the_first(count: int, first: int) -> None:
    assert counted(count, first).equals(pa.array(range(first, first + count), pa.int64()))
