"""Enumerations in records: their numbers in the journal and their words in the session log."""

import pytest

from gateway.broker.core.gateway_time import ClockQuality
from gateway.broker.core.records.kinds import (
    CloseReason,
    DropReason,
    EndReason,
    Observation,
    Origin,
    RecordKind,
    StartKind,
    WillClearReason,
)
from gateway.broker.core.word import Word

SETS = [
    ClockQuality,
    CloseReason,
    DropReason,
    EndReason,
    Observation,
    Origin,
    StartKind,
    WillClearReason,
]


@pytest.mark.parametrize("words", SETS)
def test_values_count_from_0_as_the_reader_takes_them_for_positions(words: type[Word]) -> None:
    assert [int(each) for each in words] == list(range(len(words)))


@pytest.mark.parametrize("words", [*SETS, RecordKind])
def test_each_value_has_its_name_in_lower_case_as_its_word(words: type[Word]) -> None:
    for each in words:
        assert each.word == each.name.lower()


def test_each_kind_of_record_fits_into_its_byte() -> None:
    assert all(0 < kind < 256 for kind in RecordKind)
