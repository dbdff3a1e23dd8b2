"""Records in columns keep the rules of SenML: a pack that breaks one is left out as a whole."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from cloud_jobs.ingest.numbering import counted
from cloud_jobs.ingest.senml_rules import resolved

Fields = dict[str, Any]


def rows_of(*packs: list[Fields], topic: str | None = None) -> list[Fields]:
    """Return rows of RESOLVED. The packs are messages 10, 11 ..., each delivered after 5 s."""
    batch = resolved(
        counted(len(packs), 10),
        pa.array(packs),
        pa.array([topic] * len(packs), pa.string()),
        pa.array([5_000_000] * len(packs), pa.int64()),
    )
    rows: list[Fields] = batch.to_pylist()
    return rows


def test_base_fields_hold_until_the_next_and_not_in_the_next_pack() -> None:
    rows = rows_of(
        [{"n": "a", "v": 1.0}, {"bn": "b", "bu": "V", "v": 4.0}, {"n": "c", "v": 2.0, "u": "A"}],
        [{"n": "d", "v": 3.0}],
    )
    found = [(row["source"], row["position"], row["name"], row["unit"]) for row in rows]
    assert found == [(10, 0, "a", None), (10, 1, "b", "V"), (10, 2, "bc", "A"), (11, 0, "d", None)]


def test_numbers_are_added_to_those_of_the_base_and_zeros_have_no_sign() -> None:
    rows = rows_of(
        [
            {"n": "a", "bv": -0.0, "v": -0.0},
            {"n": "b"},
            {"n": "c", "bv": 2.0},
            {"n": "d", "v": 3.0},
        ],
        [{"n": "e", "bs": -0.0, "s": -0.0}, {"n": "f", "bs": 1.0, "s": 2.0}],
    )
    found = [str((row["value"], row["sum"])) for row in rows]
    assert found == [
        "(0.0, None)", "(0.0, None)", "(2.0, None)", "(5.0, None)", "(None, 0.0)", "(None, 3.0)",
    ]  # fmt: skip


def test_a_time_below_2_28_is_relative_to_the_delivery() -> None:
    times = [{"t": -1.0}, {"bt": 268_435_455.0}, {"bt": 268_435_456.0}, {"t": 1.5}]
    rows = rows_of([{"n": "a", "v": 1.0} | time for time in times], [{"n": "b", "v": 1.0}])
    found = [row["seconds"] for row in rows]
    assert found == [4.0, 268_435_460.0, 268_435_456.0, 268_435_457.5, 5.0]


@pytest.mark.parametrize(
    "broken",
    [
        {"v": 1.0},
        {"n": "", "v": 1.0},
        {"n": "a"},
        {"n": "a", "v": 1.0, "vb": False},
        {"n": "a", "vs": "", "vd": ""},
        {"n": "a", "v": 1e308, "bv": 1e308},
        {"n": "a", "v": 1e308, "s": 1e308},
        {"n": "a", "v": 1.0, "t": -6.0},
        {"n": "a", "v": 1.0, "bt": 253_402_300_800.0},
        {"n": "d/q", "v": 1.0, "device": "e"},
        {"n": "d/p", "v": 1.0, "device": "d"},
        {"n": "d/qr", "v": 1.0, "device": "d"},
        {"n": "a" * 8_000_000, "v": 1.0},
    ],
)
def test_a_pack_with_a_record_that_breaks_a_rule_is_left_out(broken: Fields) -> None:
    good = {"n": "d/q/r", "v": 1.0, "device": "d"}
    rows = rows_of([good, broken], [good], [broken], [good, good], topic="sensors/d/q")
    assert [row["source"] for row in rows] == [11, 13, 13]


def test_names_that_would_take_too_much_memory_together_are_not_made() -> None:
    pack: list[Fields] = [{"bn": "x" * 6_000, "v": 1.0}, *({"v": 1.0} for _ in range(1_200))]
    assert len(rows_of(*[pack] * 2)) == 2 * 1_201
    assert rows_of(*[pack] * 18) == []
