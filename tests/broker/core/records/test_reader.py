"""Records that no recorder can write are reported as damage, although the blob's CRC is right."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.core.records import layout
from gateway.broker.core.records.blob import DamagedBlob
from gateway.broker.core.records.kinds import RecordKind
from gateway.broker.core.records.reader import records_of
from tests.broker.core.records.written import blob_of

STOPPED = layout.BROKER_STOPPED_RECORD.pack(RecordKind.BROKER_STOPPED)
TOPIC = layout.CLEARED_RECORD.pack(RecordKind.RETAINED_CLEARED, 3) + b"a/b"


@given(st.binary(max_size=60), st.integers(0, 3))
def test_any_bytes_are_records_or_damage(records: bytes, count: int) -> None:
    try:
        found = list(records_of(blob_of(records, count)))
    except DamagedBlob:
        return
    assert len(found) == count


@pytest.mark.parametrize(
    ("records", "count", "complaint"),
    [
        (b"\xff", 1, "record 0 of 1: unknown record kind 255"),
        (STOPPED, 2, "record 1 of 2: 1 bytes at"),
        (STOPPED + b"more", 1, "4 bytes after the last record"),
        (TOPIC[:-1], 1, "3 bytes at"),
        (TOPIC[:-1] + b"\xff", 1, "can't decode byte 0xff"),
        (layout.REASON_RECORD.pack(RecordKind.SESSION_CLOSED, 1, 200), 1, "record 0 of 1"),
        (layout.REASON_RECORD.pack(RecordKind.SESSION_ENDED, 1, 4), 1, "record 0 of 1"),
        (layout.OBSERVED_RECORD.pack(RecordKind.OBSERVED, 0, 99, 0, 0), 1, "record 0 of 1"),
    ],
)
def test_the_complaint_states_what_is_wrong_and_where(
    records: bytes, count: int, complaint: str
) -> None:
    with pytest.raises(DamagedBlob, match=complaint):
        list(records_of(blob_of(records, count)))


def test_records_before_the_damage_are_read() -> None:
    records = records_of(blob_of(TOPIC + b"\xff", 2))
    assert next(records).kind is RecordKind.RETAINED_CLEARED
    with pytest.raises(DamagedBlob, match="record 1 of 2"):
        next(records)
