"""A message is delivered when both of its halves have landed."""

from __future__ import annotations

from tests.cloud_jobs.conftest import Ingested


def test_a_message_becomes_a_reading_when_both_halves_have_landed_in_whatever_order(
    ingested: Ingested,
) -> None:
    readings = ingested.place.rows("sensor_readings", "gateway = 'halves'")
    found = {row.value: (row.device_sequence, row.message, row.batch) for row in readings}
    assert found == {1.0: (1, 1, 2), 2.0: (2, 2, 1), 3.0: (3, 3, 2)}
    delivered = {row.value: row.sequence for row in readings}
    assert delivered == {1.0: 3, 2.0: 5, 3.0: 6}
