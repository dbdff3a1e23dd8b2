"""The state of each file after verification."""

from __future__ import annotations

from typing import Any

from cloud_jobs.ingest.quarantine import refused_segments
from cloud_jobs.ingest.segment_states import Ledger, rows_of, with_refusals
from cloud_jobs.ingest.trust import Refusal
from tests.cloud_jobs.conftest import Ingested

NOTHING = Ledger(frozenset(), {}, {})


def staged(name: str, sha256: str, reason: str | None = None, folder: str = "") -> dict[str, Any]:
    """Return a verified file."""
    own = {"name": name, "file_sha256": sha256, "file_bytes": 3, "reason": reason}
    return own | {"path": f"{folder}/{name}", "detail": reason, "gateway": "gw-1", "boot": "b"}


def states_of(ledger: Ledger, *files: dict[str, Any]) -> dict[str, tuple[str, str | None]]:
    return {row["name"]: (row["state"], row["reason"]) for row in rows_of(files, ledger, 7)}


def test_of_two_files_with_one_name_the_trusted_one_counts() -> None:
    good, bad = staged("a", "1"), staged("a", "2", "cut", "again")
    for files in ((good, bad), (bad, good)):
        assert states_of(NOTHING, *files) == {"a": ("ingested", None)}


def test_a_refused_file_with_the_bytes_of_a_trusted_one_is_its_duplicate() -> None:
    renamed = staged("b", "1", "renamed")
    assert states_of(NOTHING, staged("a", "1"), renamed)["b"] == ("duplicate", "duplicate")
    earlier = Ledger(frozenset(), {}, {"1": "c"})
    (row,) = rows_of([renamed], earlier, 7)
    assert (row["state"], row["detail"], row["batch"]) == ("duplicate", "the bytes of c", 7)
    assert states_of(NOTHING, renamed) == {"b": ("quarantined", "renamed")}


def test_a_settled_segment_is_kept_and_one_in_quarantine_is_judged_again() -> None:
    known = Ledger(frozenset(), {"a": "ingested", "b": "quarantined", "c": "duplicate"}, {})
    files = [staged("a", "1", "cut"), staged("b", "2"), staged("c", "3", "cut")]
    assert states_of(known, *files) == {"b": ("ingested", None)}


def test_each_refused_file_is_in_quarantine_once_and_duplicates_are_not() -> None:
    again = staged("a", "1", "cut", "again")
    refused = with_refusals(
        [staged("a", "1", "cut"), again, staged("a", "2", "cut"), staged("b", "3", "renamed"),
         staged("d", "4")],
        [Refusal("/d", "unsigned", "why")],
    )  # fmt: skip
    rows = rows_of(refused, Ledger(frozenset(), {}, {"3": "c"}), 7)
    found = refused_segments(refused, rows, 7)
    assert [(row["segment_name"], row["file_sha256"], row["reason"]) for row in found] == [
        ("a", "1", "cut"),
        ("a", "2", "cut"),
        ("d", "4", "unsigned"),
    ]
    assert {(row["batch"], row["kind"], row["refused"]) for row in found} == {(7, "segment", 1)}


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
