"""The tables of other versions, and writes that are repeated."""

from __future__ import annotations

import pytest

from cloud_jobs.errors import IngestError
from tests.cloud_jobs.conftest import Ingested, Place


def test_a_table_of_an_earlier_version_is_given_the_columns_that_came_later(
    ingested: Ingested,
) -> None:
    rows = ingested.place.rows("quarantine", "kind = 'segment'")
    assert {row.refused for row in rows} == {1}


def test_a_table_of_another_version_is_refused_and_left_alone(place: Place) -> None:
    place.spark.range(1).write.format("delta").save(f"{place.settings.tables}/segments")
    with pytest.raises(IngestError, match="another version of this job"):
        place.run()
    assert len(place.rows("segments")) == 1
