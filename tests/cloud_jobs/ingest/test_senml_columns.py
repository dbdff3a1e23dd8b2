"""Payloads in the gateways' format are parsed together; others are left out without harm."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from cloud_jobs.ingest.senml_columns import records_in_columns
from cloud_jobs.ingest.senml_pack import records_in
from tests.cloud_jobs.ingest.senml_payloads import HOSTILE
from tests.contract.segments import payload_of

TOPIC = "sensors/board-0000002a/temperature"
RECEIVED = 1_763_715_138_250_001
READ_TOGETHER = [
    payload_of(20.125),
    payload_of(20.125).replace(" ", ""),
    payload_of(1e-7, unit="°C"),
    payload_of(1e-7, unit="°C").replace("\\u00b0", "°"),
    payload_of(1.5e16, unit='"\\/\b\f\n\r\t\x00\x1f\u2028\ud7ff\ue000'),
    '[{"n":"x","v":1},{"bn":"b/","bv":2,"bu":"V"},{"n":"c","v":3,"u":"A"},{"n":"d"},{"n":"e"}]',
    '[{"n":"x","vs":""},{"vb":false,"n":"y"},{"n":"z","vd":"aGk"},{"n":"s","s":-1,"bs":0.5}]',
    '[{"bt":1e9,"n":"x","t":-5,"v":1},{"n":"y","v":2},{"bt":0,"n":"z","t":-0.5,"v":3}]',
    '[{"bv":-0.0,"n":"x"},{"n":"y","v":-0},{"n":"z","v":1,"boot":-123456789012345678}]',
    '[{"n":"x","v":0.30000000000000004},{"n":"y","v":123456789012345678.12345678901234567890}]',
]


def read(
    payloads: list[str | None], topics: list[str | None] | None = None
) -> list[tuple[object, ...]]:
    """Return rows of RESOLVED with these payloads."""
    batches = records_in_columns(
        pa.array(payloads, pa.string()),
        pa.array(topics or [TOPIC] * len(payloads), pa.string()),
        pa.array([RECEIVED] * len(payloads), pa.int64()),
    )
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def expected(payload: str, source: int) -> list[tuple[object, ...]]:
    return [(source, *record) for record in records_in(payload, TOPIC, RECEIVED / 1_000_000)]


@pytest.mark.parametrize("payload", READ_TOGETHER)
def test_what_gateways_send_is_read_together(payload: str) -> None:
    assert repr(read([payload])) == repr(expected(payload, 0))


def test_a_refused_payload_is_left_out() -> None:
    refused = [
        '[{"n":"x"}]',
        '[{"v":1}]',
        '[{"n":"x","v":1,"vs":"a"}]',
        '[{"n":"x","t":3e11,"v":1}]',
    ]
    elsewhere = payload_of(1.5, device="board-0000002b")
    assert read([*refused, None, elsewhere, payload_of(1.5)]) == expected(payload_of(1.5), 6)


def test_a_hostile_payload_is_left_out_alone_where_it_does_not_look_like_a_pack() -> None:
    good = READ_TOGETHER[0]
    for payload in ("", "[]", "[{}]", *HOSTILE[:9]):
        assert read([good, payload, good]) == [*expected(good, 0), *expected(good, 2)], payload


def test_a_name_twice_leaves_out_a_part_of_the_payloads_only() -> None:
    payloads = [READ_TOGETHER[0]] * 2_000
    payloads[700] = '[{"n":"x","v":1,"n":"y"}]'
    sources = [row[0] for row in read([*payloads])]
    assert sources == [*range(512), *range(1024, 2000)]
    assert read([payloads[700]]) == []


def test_a_field_that_the_first_payloads_do_not_have_is_read() -> None:
    payloads = [READ_TOGETHER[0]] * 2_500 + ['[{"n":"x","vb":true}]']
    rows = read([*payloads])
    assert len(rows) == len(payloads)
    assert repr(rows[-1:]) == repr(expected(payloads[-1], 2_500))


def test_long_payloads_and_times_that_are_no_floats_are_left_out() -> None:
    long = json.dumps([{"n": "x", "vs": "v" * 65_536}])
    assert read([long]) == []
    late = records_in_columns(pa.array(['[{"n":"x","v":1}]']), pa.array(["t"]), pa.array([2**53]))
    assert [batch.num_rows for batch in late] == []
