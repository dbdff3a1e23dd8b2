"""The binary layouts of records are consistent with each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.core.records.kinds import RecordKind
from gateway.broker.core.records.layout import (
    LAYOUTS,
    properties_in,
    properties_section,
)


def test_every_kind_of_record_has_a_layout() -> None:
    assert set(LAYOUTS) == {kind.value for kind in RecordKind}


@pytest.mark.parametrize("kind", RecordKind)
def test_lengths_are_among_the_fields_behind_the_kind(kind: RecordKind) -> None:
    layout = LAYOUTS[kind]
    fields = layout.fixed.unpack(bytes([kind]) + bytes(layout.size - 1))
    assert fields[0] == kind
    assert all(0 < index < len(fields) for index in layout.lengths)


@given(st.integers(0, 2**64 - 1), st.binary())
def test_properties_of_a_message_are_what_was_written(expires_ms: int, forwarded: bytes) -> None:
    section = properties_section(expires_ms, forwarded)
    assert properties_in(section) == (expires_ms, forwarded)
    assert (section == b"") == (expires_ms == 0 and forwarded == b"")
