"""Arrow columns of consecutive integers."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def counted(count: int, first: int = 0) -> pa.Int64Array:
    """Return an Arrow array with the integers from `first` to `first + count - 1`.

    The integers never become Python objects, which would take more memory and time.
    """
    return pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), count), start=first - 1)
