"""What each file was found to be."""

from __future__ import annotations

from tests.cloud_jobs.conftest import Ingested


def test_of_a_segment_s_copies_one_is_ingested_and_the_others_are_its_duplicates(
    ingested: Ingested,
) -> None:
    (copy,) = ingested.place.rows("segments", "name = 'copy.jsonl.zst'")
    assert (copy.state, copy.reason) == ("duplicate", "duplicate")
    (owner,) = ingested.place.rows("segments", f"name = '{copy.detail.split()[-1]}'")
    assert (owner.state, owner.file_sha256) == ("ingested", copy.file_sha256)


def test_a_refused_segment_is_settled_when_a_good_copy_lands(ingested: Ingested) -> None:
    refused = ingested.place.rows("quarantine", "kind = 'segment' AND gateway = 'damaged'")
    assert {row.reason for row in refused} == {"cut", "damaged"}
    names = {row.segment_name for row in refused}
    states = {row.name: row.state for row in ingested.place.rows("segments")}
    assert {states[name] for name in names} == {"ingested"}
