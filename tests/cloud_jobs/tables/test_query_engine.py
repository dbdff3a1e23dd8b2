"""SQL without Spark."""

from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from cloud_jobs.tables.query_engine import QueryEngine, address_of


def test_an_address_is_the_one_that_the_library_reads() -> None:
    assert address_of("s3a://bucket/tables/", "gaps") == "s3://bucket/tables/gaps"
    assert address_of("file:///srv/t", "gaps") == "/srv/t/gaps"


def test_tables_are_queried_under_their_own_names(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "numbers"), pa.table({"n": [1, 2]}))
    write_deltalake(str(tmp_path / "names"), pa.table({"n": [2], "name": ["two"]}))
    engine = QueryEngine(str(tmp_path), ["numbers", "names"])
    found = engine.rows(
        "SELECT numbers.n, name FROM numbers LEFT JOIN names ON names.n = numbers.n ORDER BY 1"
    )
    assert found == [{"n": 1, "name": None}, {"n": 2, "name": "two"}]
