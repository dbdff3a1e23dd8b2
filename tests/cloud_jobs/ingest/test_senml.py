"""Payloads are SenML as RFC 8428 defines it, or refused."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_jobs.ingest.file_contents import ARROW_DELIVERED
from cloud_jobs.ingest.senml import RefusedPackError, records_in, records_of_batch
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


@pytest.mark.parametrize("payload", landings.NO_SENML)
def test_a_payload_that_is_no_senml_json_is_refused_by_the_rule_it_breaks(payload: str) -> None:
    with pytest.raises(RefusedPackError, match=r"^(a|the|`v`|`boot`) "):
        records_in(payload, "elsewhere", 0.0)


@pytest.mark.parametrize(
    ("payload", "rule"),
    [
        ('[{"n":"x","v":' + "9" * 400 + "}]", "a number is out of range"),
        ('[{"bn":"x"},{"v":true}]', "`v` of a record is no number"),
        ('[{"n":"x","v":1,"boot":9223372036854775808}]', "`boot` of a record is no integer"),
        ('[{"n":"x","v":1,"boot":1.0}]', "`boot` of a record is no integer"),
        ('[{"n":"\\ud800","v":1}]', "the payload is not JSON"),
        ('[{"n":"x","v":1,"y":{"a":1,"a":2}}]', "the payload is not JSON"),
        ('[{"n":"x","v":1e308},{"n":"y","bv":1e308,"v":1e308}]', "a number is out of range"),
    ],
)
def test_a_rule_that_is_broken_is_named(payload: str, rule: str) -> None:
    with pytest.raises(RefusedPackError) as refusal:
        records_in(payload, None, 0.0)
    assert str(refusal.value) == rule


def test_a_base_field_holds_for_its_record_and_all_after_it() -> None:
    payload = '[{"n":"a","v":1},{"bn":"b/","bv":2,"bu":"V"},{"n":"c","v":3,"u":"A"},{"n":"d"}]'
    found = [(one.name, one.value, one.unit) for one in records_in(payload, None, 0.0)]
    assert found == [("a", 1.0, None), ("b/", 2.0, "V"), ("b/c", 5.0, "A"), ("b/d", 2.0, "V")]


_FIELDS = st.sampled_from(["n", "v", "bn", "t", "device"])
_JSON = st.recursive(
    st.none() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_FIELDS, inner, max_size=3),
)


@given(st.text(max_size=30) | _JSON.map(json.dumps))
def test_no_payload_makes_the_reader_raise_anything_else(payload: str) -> None:
    with contextlib.suppress(RefusedPackError):
        records_in(payload, "sensors/a/b", 0.0)


@pytest.mark.parametrize(
    ("base", "topic"), [("x" * 500_000, "t"), ("x", "t" * 65_535), ("x" * 400, "t" * 400)]
)
def test_a_pack_whose_records_would_be_gigabytes_is_refused(base: str, topic: str) -> None:
    records = [{"bn": base, "v": 1}, *({"v": 1} for _ in range(30_000))]
    with pytest.raises(RefusedPackError, match=r"more than 8000000 characters"):
        records_in(json.dumps(records), topic, 0.0)


def test_only_a_refused_payload_s_row_has_the_payload() -> None:
    of_message = dict.fromkeys(ARROW_DELIVERED.names) | {
        "gateway": "gw", "store": "s", "message": 1, "topic": "t", "client_id": "c",
        "time": datetime(2025, 1, 1, tzinfo=UTC),
    }  # fmt: skip
    packs = ['[{"n":"x","v":1},{"n":"y","v":2}]', "no"]
    batch = pa.RecordBatch.from_pylist(
        [of_message | {"payload": pack} for pack in packs], ARROW_DELIVERED
    )
    rows = records_of_batch(batch).to_pylist()
    assert [(row["value"], row["payload"], row["client_id"]) for row in rows] == [
        (1.0, None, None),
        (2.0, None, None),
        (None, "no", "c"),
    ]
    assert {row["topic"] for row in rows} == {"t"}
