"""Queries on rows in memory give the same results as queries on tables."""

from __future__ import annotations

import pyarrow as pa

from cloud_jobs.audit.gaps import GAPS
from cloud_jobs.tables.in_memory import InMemory


def test_values_are_compared_as_they_are_whatever_is_in_them() -> None:
    with InMemory() as memory:
        memory.add("segments", pa.table({"gateway": ["a", "it's", None], "segment": [1, 2, 3]}))
        assert memory.query(
            "SELECT * FROM {segments} WHERE gateway IN :names", names=["it's", "b"]
        ) == [{"gateway": "it's", "segment": 2}]


def test_the_query_of_gaps_finds_all_kinds() -> None:
    rows = [
        segment(1, 1, 10, "a", None),
        segment(2, 15, 20, "b", "a"),
        segment(3, 21, 30, "d", "c"),
        segment(4, 31, 40, "e", "d") | {"state": "quarantined", "reason": "hash"},
    ]
    nothing = "(SELECT gateway, 1 AS from_sequence, 1 AS to_sequence FROM {segments} WHERE FALSE)"
    sql = GAPS.replace("{truncations}", f"{nothing} AS truncations")
    with InMemory() as memory:
        memory.add("segments", pa.Table.from_pylist(rows))
        found = memory.query(sql)
    kinds = {
        row["kind"]: (row["segment"], row["from_sequence"], row["to_sequence"]) for row in found
    }
    assert kinds == {"sequence": (2, 11, 14), "chain": (3, None, None), "unread": (4, 31, 40)}
    (unread,) = (row["detail"] for row in found if row["kind"] == "unread")
    assert unread.startswith("segment 4 is in quarantine: hash")


def segment(
    number: int, first: int, last: int, sha256: str, previous: str | None
) -> dict[str, object]:
    return {"name": f"s{number}", "state": "ingested", "reason": None, "gateway": "gw",
            "store": "s", "segment": number, "first_sequence": first, "last_sequence": last,
            "file_sha256": sha256, "previous_sha256": previous}  # fmt: skip
