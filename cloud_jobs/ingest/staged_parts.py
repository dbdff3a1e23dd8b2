"""Parts of a staging table that workers read themselves: groups of rows of its data files.

The worker that unpacks files is where their columns are needed: through Spark they would become its
rows and then columns again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cloud_jobs.errors import IngestError
from cloud_jobs.ingest.unpacking import Mapped
from cloud_jobs.places import local_directory
from cloud_jobs.tables.adding import opened


def parts_of(folder: Path) -> list[dict[str, Any]]:
    """List the groups of rows of a staging table's files: `path` and `part`. Raises IngestError."""
    table = opened(str(folder))
    if table is None:
        raise IngestError(f"the table {folder} is gone: another run has finished its batch")
    paths = [str(local_directory(uri)) for uri in sorted(table.file_uris())]
    return [
        {"path": path, "part": part}
        for path in paths
        for part in range(pq.ParquetFile(path).num_row_groups)
    ]


def reading(
    columns: Sequence[str], content: str, refused: frozenset[str], left_out: frozenset[str]
) -> Mapped:
    """Return what turns parts into rows of columns and a content, where there is one.

    Args:
        columns: of STAGED.
        content: one more, behind them.
        refused: paths of files whose contents do not count.
        left_out: gateways, likewise.
    """
    wanted = [*columns, content]
    needed = [*dict.fromkeys([*wanted, "path", "gateway"])]

    def read(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in parts:
            for row in batch.to_pylist():
                found = pq.ParquetFile(row["path"]).read_row_group(row["part"], columns=needed)
                for name, none in (("path", refused), ("gateway", left_out)):
                    is_out = pc.is_in(found.column(name), value_set=pa.array(none, pa.string()))
                    found = found.filter(pc.invert(is_out))
                found = found.filter(pc.is_valid(found.column(content)))
                yield from found.select(wanted).to_batches()

    return read
