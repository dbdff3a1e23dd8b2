"""Two drivers that write one commit of a table in S3: one of them wins, and nothing is lost."""

from __future__ import annotations

import json

import pytest

from tests.cloud_jobs.object_store.server import BUCKET, Fault, Store, object_store
from tests.cloud_jobs.processes import Outcome, started
from tests.contract.segments import LogWriter, opened

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]
TABLES = f"s3a://{BUCKET}/tables"
VERB = ("ingest", "--source", f"s3a://{BUCKET}/landed", "--tables", TABLES)


def run(store: Store) -> Outcome:
    return started(VERB, {"spark.master": "local[2]", **store.spark_settings})


def commit_of_another() -> bytes:
    """A commit that changes nothing."""
    info = {"timestamp": 1, "operation": "OTHER", "operationParameters": {}, "isBlindAppend": True}
    return json.dumps({"commitInfo": info}).encode()


def test_a_commit_that_another_driver_has_made_is_not_overwritten() -> None:
    log = LogWriter("gw-1")
    overtaken: list[str] = []
    with object_store() as store:

        def overtake(key: str) -> None:
            """Be quicker than the first commit of rows of each table."""
            if key.endswith(f"/_delta_log/{1:020}.json") and key not in overtaken:
                overtaken.append(key)
                store.put(key, commit_of_another())

        made = log.seal([opened()])
        store.put(f"landed/{made.name}", made.content)
        store.on_put = overtake
        found = run(store)
        assert overtaken
        assert (found.code, found.result.get("events_new")) == (0, 1), found.printed
        for key in overtaken:
            assert store.get(key) == commit_of_another()


def test_an_answer_that_is_cut_off_behind_a_commit_makes_it_neither_lost_nor_doubled() -> None:
    log = LogWriter("gw-1")
    cut: list[str] = []
    with object_store() as store:

        def cut_off(key: str) -> Fault | None:
            if "/_delta_log/" not in key or key in cut:
                return None
            cut.append(key)
            return Fault.CUT

        made = log.seal([opened()])
        store.put(f"landed/{made.name}", made.content)
        assert run(store).code == 0
        made = log.seal([opened()])
        store.put(f"landed/{made.name}", made.content)
        store.on_put = cut_off
        found = run(store)
        assert cut
        if found.code != 0:
            assert "run it again" in found.printed
            found = run(store)
        assert found.code == 0
        assert found.result["tables"]["events"]["rows"] == 2
