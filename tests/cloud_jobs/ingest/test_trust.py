"""Trust in segments by their keys and their chain, decided without Spark."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cloud_jobs.ingest.keys_file import Pinned
from cloud_jobs.ingest.trust import (
    FIRST_USE,
    PINNED,
    GatewayKey,
    SignedFile,
    folder_of,
    new_keys,
    refusals_of,
)

KEY, OTHER, NEXT = "aa" * 32, "bb" * 32, "cc" * 32


def file(
    segment: int, public_key: str | None = KEY, *, gateway: str = "gw-1", folder: str = ""
) -> SignedFile:
    """Return a file with the ten events that belong to its segment number."""
    name = f"{gateway}.{segment}.{public_key}"
    first, last = 10 * segment - 9, 10 * segment
    return SignedFile(
        f"/in/{folder}/{name}", folder, name, gateway, segment, first, last, public_key
    )


def reasons(files: list[SignedFile], known: list[GatewayKey]) -> dict[int, str]:
    by_path = {one.path: one.segment for one in files}
    return {by_path[one.path]: one.reason for one in refusals_of(files, known)}


def judged(
    files: list[SignedFile], known: list[GatewayKey], pinned: dict[str, Pinned] | None = None
) -> tuple[dict[int, str], list[GatewayKey]]:
    """Return the refusals of a batch, and `gateway_keys` after the batch."""
    table = {(row.gateway, row.public_key): row for row in known}
    table |= {(row.gateway, row.public_key): row for row in new_keys(files, known, pinned or {})}
    return reasons(files, list(table.values())), list(table.values())


def test_the_first_signed_segment_s_key_is_kept_and_no_other_one_is_taken() -> None:
    found, table = judged([file(2), file(1), file(3, OTHER)], [])
    assert found == {3: "foreign_key"}
    assert table == [
        GatewayKey("gw-1", KEY, FIRST_USE, False, None, 1, 1, file(1).name),
    ]
    assert judged([file(4, OTHER), file(5)], table) == ({4: "foreign_key"}, table)


def test_unsigned_segments_are_taken_until_there_is_a_key_and_then_none_is() -> None:
    assert judged([file(1, None), file(2, None)], []) == ({}, [])
    found, table = judged([file(3, None), file(4), file(5, None)], [])
    assert found == {3: "unsigned", 5: "unsigned"}
    assert judged([file(2, None), file(6, None)], table)[0] == {2: "unsigned", 6: "unsigned"}


def chained(number: int, public_key: str | None = None, **changes: Any) -> SignedFile:
    """Return a file whose header names the segment before it."""
    names = {"sha256": f"sha {number}", "previous_sha256": f"sha {number - 1}"}
    return replace(file(number, public_key), **names | changes)


def test_unsigned_segments_to_which_the_chain_of_a_signed_one_leads_are_taken_in_any_order() -> (
    None
):
    real = [chained(4, KEY), chained(3), chained(2), chained(1)]
    forged = [
        chained(2, sha256="forged", path="/in/forged-2"),
        chained(3, sha256="forged too", previous_sha256="forged", path="/in/forged-3"),
    ]
    for files in ([*real, *forged], [*forged, *reversed(real)]):
        refusals = refusals_of(files, new_keys(files, [], {}))
        assert sorted(one.path for one in refusals) == ["/in/forged-2", "/in/forged-3"]


def test_a_segment_in_the_tables_vouches_for_the_one_before_it_and_of_no_other_gateway() -> None:
    _, table = judged([chained(4, KEY)], [])
    assert refusals_of([chained(3), chained(2)], table, [("gw-1", "sha 3")]) == []
    assert len(refusals_of([chained(3), chained(2)], table, [("gw-2", "sha 3")])) == 2
    # Segment 3 has not arrived, so no chain leads to segment 2.
    assert len(refusals_of([chained(2)], table, [("gw-1", "sha 3")])) == 1


def test_a_segment_that_is_refused_vouches_for_none() -> None:
    _, table = judged([chained(9, KEY)], [])
    by_stranger = chained(4, OTHER)
    found = refusals_of([by_stranger, chained(3)], table)
    assert {one.reason for one in found} == {"foreign_key", "unsigned"}


def test_pinned_keys_are_the_gateway_s_only_ones() -> None:
    pinned = {"gw-1": Pinned((KEY, NEXT))}
    files = [file(1), file(2, NEXT), file(3, OTHER), file(4, None)]
    found, table = judged(files, [], pinned)
    assert found == {3: "foreign_key", 4: "unsigned"}
    assert {(row.public_key, row.source) for row in table} == {(KEY, PINNED), (NEXT, PINNED)}
    # The keys stay valid without the file.
    assert judged(files, table) == (found, table)


def test_a_pinned_key_replaces_the_first_one() -> None:
    _, table = judged([file(3, OTHER)], [])
    found, table = judged(
        [file(4), file(5, OTHER), file(2, None), file(6, None)], table, {"gw-1": Pinned((KEY,))}
    )
    assert found == {2: "unsigned", 5: "foreign_key", 6: "unsigned"}
    assert {row.public_key: row.is_withdrawn for row in table} == {OTHER: True, KEY: False}
    # Added again, which is the fix for a key that was removed by mistake.
    found, table = judged([file(5, OTHER)], table, {"gw-1": Pinned((OTHER, KEY))})
    assert found == {}
    assert not any(row.is_withdrawn for row in table)


def test_a_keys_file_that_changes_nothing_adds_no_row() -> None:
    pinned = {"gw-1": Pinned((KEY,), "site/gw-1")}
    rows = new_keys([], [], pinned)
    assert new_keys([], rows, pinned) == []


def test_gateways_do_not_share_keys() -> None:
    files = [file(1), file(1, OTHER, gateway="gw-2"), file(2, KEY, gateway="gw-2")]
    found = refusals_of(files, new_keys(files, [], {}))
    assert [(one.path, one.reason) for one in found] == [(files[2].path, "foreign_key")]


def test_a_segment_in_another_gateway_s_folder_is_refused_and_makes_no_key() -> None:
    own = file(1, gateway="gw-2", folder="sites/gw-2")
    strange = file(2, OTHER, folder="sites/gw-2")
    unsigned = file(3, None, folder="gw-2/old")
    found, table = judged([own, strange, unsigned], [])
    assert found == {2: "foreign_key", 3: "wrong_prefix"}
    assert [row.gateway for row in table] == ["gw-2"]
    _, table = judged([file(9, OTHER)], table)
    assert judged([strange], table)[0] == {2: "wrong_prefix"}
    assert (
        judged([file(2, OTHER, folder="gw-2/gw-1"), file(3, OTHER, folder="site-7")], table)[0]
        == {}
    )


@pytest.mark.parametrize(
    ("folder", "found"),
    [
        ("site/gw-1", {}),
        ("site/gw-1/2026", {}),
        ("site/gw-11", {1: "wrong_prefix"}),
        ("site", {1: "wrong_prefix"}),
        ("", {1: "wrong_prefix"}),
    ],
)
def test_a_pinned_prefix_binds_the_gateway_to_its_folder(
    folder: str, found: dict[int, str]
) -> None:
    pinned = {"gw-1": Pinned((KEY,), "site/gw-1")}
    assert judged([file(1, folder=folder)], [], pinned)[0] == found


@pytest.mark.parametrize(
    ("path", "source", "folder"),
    [
        ("file:/in/a.zst", "/in", ""),
        ("file:/in/x/y/a.zst", "file:///in/", "x/y"),
        ("s3a://bucket/p/gw-1/a.zst", "s3a://bucket/p", "gw-1"),
        ("file:/inside/a.zst", "/in", "inside"),
        ("file:/somewhere/in/a.zst", "in", "somewhere/in"),
        ("file:/a.zst", "/", ""),
    ],
)
def test_a_file_s_folder_is_relative_to_the_source(path: str, source: str, folder: str) -> None:
    assert folder_of(path, source) == folder
