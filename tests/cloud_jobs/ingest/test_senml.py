"""Payloads are SenML as RFC 8428 defines it, or refused."""

from __future__ import annotations

import pytest

from tests.cloud_jobs import landings
from tests.cloud_jobs.conftest import Ingested


def test_payloads_are_read_as_rfc_8428_defines_them(ingested: Ingested) -> None:
    rows = ingested.place.rows("sensor_readings", "gateway = 'senml'")
    found = {row.name.removeprefix("urn:dev:1:"): row for row in rows}
    expected = {str(record["n"]) for record in landings.BASED}
    assert set(found) == {*expected, "now", "plain", "d/gga"}
    assert found["current"].unit == "A"
    voltage = found["voltage"]
    assert (voltage.value, voltage.unit, voltage.time.timestamp()) == (230.0, "V", 1763715105.0)
    assert (found["state"].string_value, found["state"].value) == ("on", None)
    assert found["door"].boolean_value is False
    assert found["picture"].data_value == "aGk"
    assert (found["energy"].sum, found["energy"].value) == (7.5, None)
    assert (found["now"].delivered_at - found["now"].time).total_seconds() == pytest.approx(2)
    assert len([row for row in rows if row.name == "d/gga"]) == 2


def test_payloads_that_are_no_senml_json_are_refused_whole_and_stay_in_events(
    ingested: Ingested,
) -> None:
    refused = ingested.place.rows("quarantine", "gateway = 'senml'")
    assert sorted(row.raw for row in refused) == sorted([*landings.NO_SENML, "/w=="])
    assert {(row.kind, row.reason) for row in refused} == {("payload", "not_senml")}
    events = ingested.place.rows("events", "gateway = 'senml'")
    assert len(events) == len(landings.senml_events())
    assert {row.sequence for row in refused} < {row.sequence for row in events}


def test_a_reading_in_another_topic_than_its_own_is_refused_with_its_publisher(
    ingested: Ingested,
) -> None:
    refused = ingested.place.rows("quarantine", "gateway = 'elsewhere'")
    assert {(row.kind, row.reason) for row in refused} == {("payload", "topic")}
    publishers = sorted(row.detail.partition("(published by ")[2] for row in refused)
    assert publishers == sorted(f"stranger to {topic})" for topic in ingested.foreign_topics)
    readings = ingested.place.rows("sensor_readings", "gateway = 'elsewhere'")
    assert {row.topic for row in readings} == {
        "sensors/board-0000002a/temperature",
        "sensors/gps/gga",
    }
