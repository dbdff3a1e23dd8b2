"""Each reading is one row, however often it is sent."""

from __future__ import annotations

import json

from cloud_jobs.report import RepeatedStart
from tests.cloud_jobs.conftest import Ingested


def test_a_board_that_gives_its_numbers_again_is_a_new_start_and_no_gap(ingested: Ingested) -> None:
    readings = ingested.place.rows("sensor_readings", "gateway = 'boards'")
    found = {row.value: (row.device_boot % 2**32, row.board_start) for row in readings}
    assert found == {1.0: (3, None), 2.0: (3, 1), 3.0: (3, 2)}
    assert ingested.gaps(ingested.first, "boards") == []
    assert ingested.first.repeated_starts == [RepeatedStart("boards", "board-0000002a", 2)]


def test_a_reading_sent_again_is_one_reading_and_another_value_is_a_conflict(
    ingested: Ingested,
) -> None:
    (reading,) = ingested.place.rows("sensor_readings", "gateway = 'repeats'")
    assert reading.value == 1.0
    (conflict,) = ingested.place.rows("quarantine", "gateway = 'repeats'")
    assert (conflict.kind, conflict.reason, conflict.sequence) == ("reading", "conflict", 4)
    assert json.loads(conflict.raw)["value"] == 9.0
    assert (ingested.first.readings_duplicate, ingested.healed.readings_duplicate) == (1, 1)
