"""Segments and tables in an object store, which is slow and fails now and then."""

from __future__ import annotations

from typing import Any

import pytest
from deltalake import DeltaTable

from tests.cloud_jobs.object_store.server import BUCKET, Store, object_store
from tests.cloud_jobs.processes import started
from tests.contract.segments import LogWriter, opened

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]


def run(store: Store, *verb: str) -> dict[str, Any]:
    found = started(verb, store.spark_settings)
    assert found.code == 0, found.printed
    return found.result


def test_two_runs_append_and_merge_in_a_store_that_fails_now_and_then() -> None:
    log = LogWriter("gw-1")
    verb = ("ingest", "--source", f"s3a://{BUCKET}/landed", "--tables", f"s3a://{BUCKET}/tables")
    with object_store() as store:
        for number in (1, 2):
            made = log.seal([opened()])
            store.put(f"landed/gw-1/{made.name}", made.content)
            store.fail_every, store.delay_seconds = (0, 0.0) if number == 1 else (9, 0.01)
            result = run(store, *verb)
            assert (result["segments_ingested"], result["gaps_count"]) == (1, 0)
        assert store.failures > 0
        store.fail_every, store.delay_seconds = 0, 0.0
        options = store.deltalake_options
        tables = {
            name: DeltaTable(f"s3://{BUCKET}/tables/{name}", storage_options=options)
            for name in ("events", "sessions", "segments")
        }
        counts = {name: table.to_pyarrow_table().num_rows for name, table in tables.items()}
    assert counts == {"events": 2, "sessions": 1, "segments": 2}
