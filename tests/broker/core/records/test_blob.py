"""A damaged blob of the journal is detected wherever the damage is."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.core.records.blob import Blob, DamagedBlob
from gateway.broker.core.records.events import decode
from tests.broker.core.harness import Harness
from tests.broker.core.records.story import record_a_life


def one_blob() -> bytes:
    with TemporaryDirectory() as folder:
        harness = Harness(Path(folder))
        record_a_life(harness)
        harness.close()
        return max(harness.blobs, key=len)


BLOB = one_blob()


@given(position=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_a_flipped_bit_is_noticed(position: int, bit: int) -> None:
    damaged = bytearray(BLOB)
    damaged[position % len(BLOB)] ^= 1 << bit
    with pytest.raises(DamagedBlob):
        decode(bytes(damaged))


@given(st.integers(0, 10_000))
def test_a_cut_blob_is_noticed(length: int) -> None:
    with pytest.raises(DamagedBlob):
        Blob(BLOB[: length % len(BLOB)])
