from __future__ import annotations

from pathlib import Path

import pytest

from gateway.uploader.segments.names import SegmentName, segment_name_of, segments_in


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gw-1.0f.00000001.000000000001-000000000002." + "0" * 64 + ".jsonl.zst",
        "gw_.0123456789abcdef.00000001.000000000001-000000000002." + "0" * 64 + ".jsonl.zst",
        "gw_a_b.0123456789abcdef.00000001.000000000001-000000000002." + "0" * 64 + ".jsonl.zst",
        "_a.0123456789abcdef.00000001.000000000001-000000000002." + "0" * 64 + ".jsonl.zst",
        "GW.0123456789abcdef.00000001.000000000001-000000000002." + "0" * 64 + ".jsonl.zst",
        "gw.0123456789abcdef.000000001.000000000001-000000000002." + "0" * 64 + ".jsonl.zst",
        "gw.0123456789abcdef.00000001.000000000001-000000000002." + "0" * 64 + ".jsonl.zst\n",
        "../w.0123456789abcdef.00000001.000000000001-000000000002." + "0" * 64 + ".jsonl.zst",
    ],
)
def test_what_is_no_segment_name_is_not_read_as_one(text: str) -> None:
    assert segment_name_of(text) is None


@pytest.mark.parametrize("gateway", ["gw-1", "gw-1_acme", f"{'g' * 64}_{'a' * 32}"])
def test_a_name_survives_being_read(gateway: str) -> None:
    name = SegmentName(gateway, "0123456789abcdef", 12, 4021, 4138, "ab" * 32)
    assert segment_name_of(str(name)) == name


def test_segments_are_listed_in_the_order_of_the_chain_and_other_files_are_not(
    tmp_path: Path,
) -> None:
    names = [
        SegmentName("gw-1", "0123456789abcdef", number, number, number, "ab" * 32)
        for number in (100_000_000, 2, 10)
    ]
    for name in [*map(str, names), "notes.txt", f".{names[0]}.partial"]:
        (tmp_path / name).touch()
    assert [name.segment for name in segments_in(tmp_path)] == [2, 10, 100_000_000]
