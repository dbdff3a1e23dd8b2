"""Payloads are SenML as RFC 8428 defines it, or refused."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloud_jobs.ingest import senml
from cloud_jobs.ingest.file_contents import ARROW_DELIVERED
from cloud_jobs.ingest.senml import records_of_batch
from tests.cloud_jobs import landings
from tests.cloud_jobs.conftest import Ingested
from tests.cloud_jobs.ingest.senml_payloads import HOSTILE, payloads


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


Message = tuple[str | None, str | None, datetime]
NOW = datetime(2025, 1, 1, 1, 1, 1, 345_678, tzinfo=UTC)


def delivered(messages: Sequence[Message]) -> pa.RecordBatch:
    """Return rows of DELIVERED with these payloads, topics and times."""
    same = dict.fromkeys(ARROW_DELIVERED.names) | {"gateway": "gw", "store": "s", "client_id": "c"}
    rows = [
        same | {"message": number, "payload": payload, "topic": topic, "time": time}
        for number, (payload, topic, time) in enumerate(messages)
    ]
    return pa.RecordBatch.from_pylist(rows, ARROW_DELIVERED)


@pytest.mark.parametrize("others", [1, 1000])
def test_states_of_bridge_and_ports_are_no_refused_readings(others: int) -> None:
    """Operators may choose a topic below `sensors/`, where payloads are logged."""
    pack = '[{"n":"gps/lat","v":1}]'
    states: list[Message] = [
        ("online", "sensors/state", NOW),
        ("offline", "sensors/state/gps", NOW),
        ("online", "sensors/state/gps/board-0000002a", NOW),
    ]
    rows = records_of_batch(delivered([*states, *others * [(pack, "sensors/gps/lat", NOW)]]))
    assert rows.column("name").to_pylist() == others * ["gps/lat"]
    assert rows.column("wrong").null_count == others
    assert records_of_batch(delivered(states)).num_rows == 0
    almost: list[Message] = [("offline ", "sensors/state", NOW), ('"online"', "sensors/a/b", NOW)]
    assert records_of_batch(delivered(almost)).column("wrong").null_count == 0


def both_ways(messages: Sequence[Message]) -> None:
    """Compare records that are parsed together with records that are parsed one by one."""
    batch = delivered(messages)
    with patch.object(senml, "_MANY", 0):
        together = records_of_batch(batch)
    with patch.object(senml, "_MANY", len(messages) + 1):
        one_by_one = records_of_batch(batch)
    assert together.schema == one_by_one.schema
    # As strings, because 0.0 and -0.0 compare as equal.
    assert repr(together.to_pylist()) == repr(one_by_one.to_pylist())


_TOPICS = st.sampled_from(
    [*["sensors/d/q"] * 9, "sensors/d", "sensors/d/q/r", "sensors//", "x/d/q", "", None]
)
_TIMES = st.sampled_from(
    [NOW, NOW + timedelta(microseconds=1), NOW.replace(year=9999), datetime(1970, 1, 1, tzinfo=UTC)]
)
_NONE = st.sampled_from([None, *HOSTILE])


@settings(max_examples=150)
@given(st.lists(st.tuples(payloads() | _NONE, _TOPICS, _TIMES), max_size=8))
def test_payloads_that_are_read_together_are_read_as_one_by_one(messages: list[Message]) -> None:
    both_ways(messages)


@pytest.mark.parametrize("payload", [*HOSTILE, *landings.NO_SENML])
def test_a_hostile_payload_changes_nothing_of_its_neighbours(payload: str) -> None:
    good = '[{"n":"d/q","v":1,"device":"d","boot":1,"sequence":2},{"bn":"x","vb":true}]'
    messages = [(one, "sensors/d/q", NOW) for one in [*[good] * 3, payload, *[good] * 600]]
    both_ways(messages)
    with patch.object(senml, "_MANY", 0):
        rows = records_of_batch(delivered(messages)).to_pylist()
    kept = [row["message"] for row in rows if row["message"] != 3]
    assert kept == [number for number in range(604) if number != 3 for _ in "12"]


def test_packs_of_many_characters_are_read_as_one_by_one() -> None:
    packs = [
        '[{"bn":"' + "x" * length + '","v":1}' + ',{"v":1}' * 1299 + "]"
        for length in (6_000, 6_200, 2_000)
    ]
    both_ways([(pack, "t", NOW) for pack in packs])


def test_only_a_refused_payload_s_row_has_the_payload() -> None:
    packs = ['[{"n":"x","v":1},{"n":"y","v":2}]', "no"]
    rows = records_of_batch(delivered([(pack, "t", NOW) for pack in packs])).to_pylist()
    assert [(row["value"], row["payload"], row["client_id"]) for row in rows] == [
        (1.0, None, None),
        (2.0, None, None),
        (None, "no", "c"),
    ]
    assert {row["topic"] for row in rows} == {"t"}
