"""Segments and tables in an object store that is slow and sometimes fails."""

from __future__ import annotations

from typing import Any

import pytest
from deltalake import DeltaTable

from tests.cloud_jobs.object_store.server import BUCKET, Fault, Store, object_store
from tests.cloud_jobs.processes import started
from tests.contract.segments import LogWriter, opened

VERB = ("ingest", "--source", f"s3a://{BUCKET}/landed", "--tables", f"s3a://{BUCKET}/tables")
pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]


def run(store: Store, *verb: str) -> dict[str, Any]:
    found = started(verb, store.spark_settings)
    assert found.code == 0, found.printed
    return found.result


def test_two_runs_append_in_a_store_that_fails_now_and_then() -> None:
    log = LogWriter("gw-1")
    with object_store() as store:
        for number in (1, 2):
            made = log.seal([opened()])
            store.put(f"landed/gw-1/{made.name}", made.content)
            store.fail_every, store.delay_seconds = (0, 0.0) if number == 1 else (9, 0.01)
            result = run(store, *VERB)
            assert (result["segments_ingested"], result["gaps_count"]) == (1, 0)
        assert store.failures > 0
        store.fail_every, store.delay_seconds = 0, 0.0
        options = store.deltalake_options
        tables = {
            name: DeltaTable(f"s3://{BUCKET}/tables/{name}", storage_options=options)
            for name in ("events", "segments")
        }
        counts = {name: table.to_pyarrow_table().num_rows for name, table in tables.items()}
    assert counts == {"events": 2, "segments": 2}


def test_an_answer_that_is_cut_off_behind_a_commit_makes_it_neither_lost_nor_doubled() -> None:
    log = LogWriter("gw-1")
    cut: list[str] = []

    def cut_off(key: str) -> Fault | None:
        if "/_delta_log/" not in key or key in cut:
            return None
        cut.append(key)
        return Fault.CUT

    with object_store() as store:
        made = log.seal([opened()])
        store.put(f"landed/{made.name}", made.content)
        store.on_put = cut_off
        found = started(VERB, store.spark_settings)
        assert cut
        store.on_put = lambda _: None
        if found.code != 0:
            # The run ended with instructions for the operator.
            assert "run it again" in found.printed, found.printed
        result = run(store, *VERB)
        assert result["tables"]["events"]["rows"] == 1


def test_a_store_that_answers_nothing_any_more_ends_the_run_in_one_line_and_loses_nothing() -> None:
    log = LogWriter("gw-1")
    soon = {"spark.hadoop.fs.s3a.attempts.maximum": "2", "spark.hadoop.fs.s3a.retry.limit": "2"}
    with object_store() as store:
        made = log.seal([opened()])
        store.put(f"landed/{made.name}", made.content)

        def fail_at_events(key: str) -> None:
            if "tables/events/" in key and not key.endswith(f"{0:020}.json"):
                store.fail_every = 1

        store.on_put = fail_at_events
        store.faults = (Fault.BROKEN,)
        found = started(VERB, store.spark_settings | soon)
        assert found.code == 1, found.printed
        last = found.printed.splitlines()[-1]
        assert last.startswith("oncegate ingest: Spark failed: "), found.printed
        assert "nothing is lost: run it again" in last
        store.on_put, store.fail_every = lambda _: None, 0
        result = run(store, *VERB)
        assert (result["segments_ingested"], result["tables"]["events"]["rows"]) == (1, 1)
