"""The job on a real Spark: what lands stands in the tables once, and what does not is named."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from cloud_jobs.errors import IngestError
from cloud_jobs.limits import BAD_LINES_PER_SEGMENT_MAX, QUARANTINE_ROWS_MAX
from cloud_jobs.report import Gap, IngestReport, RepeatedStart
from cloud_jobs.tables.schemas import QUARANTINE
from tests.cloud_jobs import stories
from tests.cloud_jobs.conftest import Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first test waits for Spark


@dataclass
class Story:
    """Everything landed, ingested; what heals it landed, ingested; nothing landed, run again."""

    place: Place
    first: IngestReport
    healed: IngestReport
    idle: IngestReport
    foreign_topics: list[str]

    def gaps(self, report: IngestReport, gateway: str) -> list[Gap]:
        return [gap for gap in report.gaps if gap.gateway == gateway]


@pytest.fixture(scope="module")
def story(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Story:
    place = Place(spark, tmp_path_factory.mktemp("story"))
    landing = place.landing
    later = [
        *stories.land_damaged(landing),
        *stories.land_halves(landing),
        *stories.land_repeats(landing),
        *stories.land_session(landing),
        *stories.land_new_database(landing),
    ]
    stories.land(landing, stories.log_of("senml").seal(stories.senml_events()))
    foreign_topics = stories.land_elsewhere(landing)
    stories.land_contradiction(landing)
    stories.land(landing, *stories.flooded(), *stories.repeated_starts(), stories.far_ahead())
    stories.land_odd_names(landing)
    stories.land_broken_chain(landing)
    stories.land_golden(landing)
    # The tables were begun by an earlier version.
    earlier = QUARANTINE.fields[: QUARANTINE.fieldNames().index("refused")]
    quarantine = spark.createDataFrame([], StructType(earlier)).write.format("delta")
    quarantine.save(f"{place.settings.tables}/quarantine")
    first = place.run()
    stories.land(landing, *later)
    return Story(place, first, place.run(), place.run(), foreign_topics)


def test_ten_damaged_segments_give_each_good_row_once_and_every_fault_its_reason(
    story: Story,
) -> None:
    rows = story.place.rows
    found = {(row.segment_name[:12], row.reason) for row in rows("quarantine", "kind = 'segment'")}
    assert found >= {
        ("damaged.0f3a", "cut"),
        ("damaged.0f3a", "damaged"),
        ("renamed.0f3a", "renamed"),
        ("huge.jsonl.z", "too_large"),
        ("empty.jsonl.", "cut"),
    }
    (line,) = rows("quarantine", "kind = 'line' AND gateway = 'malformed'")
    assert (line.raw, line.reason, line.sequence) == ('{"sequence":oops}', "not_json", 1)
    assert [row.sequence for row in rows("events", "gateway = 'malformed'")] == [2]
    (copy,) = rows("segments", "name = 'copy.jsonl.zst'")
    assert (copy.state, copy.reason) == ("duplicate", "duplicate")
    first = rows("events", "gateway = 'damaged' AND batch = 1")
    expected = [1, *range(2, 12), *range(22, 32), *range(62, 72)]
    assert sorted(row.sequence for row in first) == expected
    assert story.first.events_duplicate == 10 + 4 + 1


def test_missing_and_refused_segments_are_gaps_until_good_ones_land(story: Story) -> None:
    gaps = {
        (gap.from_sequence, gap.to_sequence): gap.detail
        for gap in story.gaps(story.first, "damaged")
        if gap.kind == "sequence"
    }
    assert set(gaps) == {(12, 21), (32, 61)}
    assert "is in quarantine: cut" in gaps[12, 21]
    assert "is in quarantine: damaged" in gaps[32, 61]
    assert [g for g in story.gaps(story.healed, "damaged") if g.kind == "sequence"] == []
    rows = story.place.rows
    healed = rows("events", "gateway = 'damaged'")
    assert sorted(row.sequence for row in healed) == list(range(1, 72))
    assert len(rows("sensor_readings", "gateway = 'damaged'")) == 35
    assert rows("segments", "gateway = 'damaged' AND state != 'ingested'") == []


def test_a_run_without_anything_new_changes_nothing_and_reports_the_same(story: Story) -> None:
    assert (story.healed.batches, story.idle.batches) == (1, 0)
    for name, count in story.healed.tables.items():
        assert story.idle.tables[name].rows == count.rows
        assert story.idle.tables[name].changed == 0
    assert (story.idle.gaps, story.idle.gateways) == (story.healed.gaps, story.healed.gateways)
    assert story.idle.quarantine == story.healed.quarantine


def test_no_event_and_no_reading_stands_in_the_tables_twice(story: Story) -> None:
    events = [(row.gateway, row.boot, row.sequence) for row in story.place.rows("events")]
    assert len(events) == len(set(events))
    readings = [(row.gateway, row.identity) for row in story.place.rows("sensor_readings")]
    assert len(readings) == len(set(readings))


def test_a_message_becomes_a_reading_when_both_halves_have_landed_in_whatever_order(
    story: Story,
) -> None:
    readings = story.place.rows("sensor_readings", "gateway = 'halves'")
    found = {row.value: (row.device_sequence, row.message, row.batch) for row in readings}
    assert found == {1.0: (1, 1, 2), 2.0: (2, 2, 1), 3.0: (3, 3, 2)}
    delivered = {row.value: row.sequence for row in readings}
    assert delivered == {1.0: 3, 2.0: 5, 3.0: 6}


def test_payloads_are_read_as_rfc_8428_says(story: Story) -> None:
    rows = story.place.rows("sensor_readings", "gateway = 'senml'")
    found = {row.name.removeprefix("urn:dev:1:"): row for row in rows}
    expected = {str(record["n"]) for record in stories.BASED}
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
    story: Story,
) -> None:
    refused = story.place.rows("quarantine", "gateway = 'senml'")
    assert sorted(row.raw for row in refused) == sorted([*stories.NO_SENML, "/w=="])
    assert {(row.kind, row.reason) for row in refused} == {("payload", "not_senml")}
    events = story.place.rows("events", "gateway = 'senml'")
    assert len(events) == len(stories.senml_events())
    assert {row.sequence for row in refused} < {row.sequence for row in events}


def test_a_reading_in_another_topic_than_its_own_is_refused_with_its_publisher(
    story: Story,
) -> None:
    refused = story.place.rows("quarantine", "gateway = 'elsewhere'")
    assert {(row.kind, row.reason) for row in refused} == {("payload", "topic")}
    told = sorted(row.detail.partition("(published by ")[2] for row in refused)
    assert told == sorted(f"stranger to {topic})" for topic in story.foreign_topics)
    readings = story.place.rows("sensor_readings", "gateway = 'elsewhere'")
    assert {row.topic for row in readings} == {
        "sensors/board-0000002a/temperature",
        "sensors/gps/gga",
    }


def test_a_board_that_gives_its_numbers_again_is_a_new_start_and_no_gap(story: Story) -> None:
    readings = story.place.rows("sensor_readings", "gateway = 'boards'")
    found = {row.value: (row.device_boot % 2**32, row.board_start) for row in readings}
    assert found == {1.0: (3, None), 2.0: (3, 1), 3.0: (3, 2)}
    assert story.gaps(story.first, "boards") == []
    assert story.first.repeated_starts == [RepeatedStart("boards", "board-0000002a", 2)]


def test_rows_say_how_good_their_time_was_and_no_time_breaks_a_table(story: Story) -> None:
    rows = story.place.rows
    for table in ("events", "sensor_readings"):
        assert {row.clock for row in rows(table, "gateway = 'boards'")} == {"unsynchronised"}
        assert {str(row.day) for row in rows(table, "gateway = 'boards'")} == {"1970-01-01"}
        assert {row.clock for row in rows(table, "gateway = 'halves'")} == {"synchronised"}
    (refused,) = rows("quarantine", "gateway = 'boards'")
    assert (refused.kind, refused.reason) == ("payload", "not_senml")
    assert "a time is out of range" in refused.detail
    assert [row.day.year for row in rows("events", "gateway = 'ahead'")] == [9999]


def test_a_flood_of_refusals_fills_no_table_and_is_counted(story: Story) -> None:
    lines = story.place.rows("quarantine", "gateway = 'flood' AND kind = 'line'")
    assert len(lines) == BAD_LINES_PER_SEGMENT_MAX + 1
    assert sum(row.refused for row in lines) == stories.FLOOD_LINES
    payloads = story.place.rows("quarantine", "gateway = 'flood' AND kind = 'payload'")
    assert len(payloads) == QUARANTINE_ROWS_MAX + 1
    assert sum(row.refused for row in payloads) == stories.FLOOD_PAYLOADS
    (more,) = [row for row in payloads if row.reason == "more"]
    assert more.refused == stories.FLOOD_PAYLOADS - QUARANTINE_ROWS_MAX
    assert more.sequence == stories.FLOOD_LINES + stories.FLOOD_PAYLOADS
    assert f"{more.refused} more refusals at events" in more.detail
    (segment,) = story.place.rows("segments", "gateway = 'flood'")
    assert (segment.state, segment.bad_lines) == ("ingested", stories.FLOOD_LINES)
    assert story.healed.quarantine["line", "more"] == stories.FLOOD_LINES - len(lines) + 1


def test_a_reading_sent_again_is_one_reading_and_another_value_is_a_conflict(story: Story) -> None:
    (reading,) = story.place.rows("sensor_readings", "gateway = 'repeats'")
    assert reading.value == 1.0
    (conflict,) = story.place.rows("quarantine", "gateway = 'repeats'")
    assert (conflict.kind, conflict.reason, conflict.sequence) == ("reading", "conflict", 4)
    assert json.loads(conflict.raw)["value"] == 9.0
    assert (story.first.readings_duplicate, story.healed.readings_duplicate) == (1, 1)


def test_of_two_segments_that_contradict_each_other_one_is_believed_and_both_are_kept(
    story: Story,
) -> None:
    rows = story.place.rows
    events = rows("events", "gateway = 'contradicts' AND sequence = 1")
    assert [row.client_id for row in events] == ["a"]
    (refused,) = rows("quarantine", "gateway = 'contradicts'")
    assert (refused.kind, refused.reason, refused.sequence) == ("event", "conflict", 1)
    assert '"client_id":"b"' in refused.raw


def test_a_session_is_one_row_however_many_batches_tell_its_story(story: Story) -> None:
    (session,) = story.place.rows("sessions", "gateway = 'session'")
    assert (session.connects, session.disconnects, session.events) == (2, 2, 11)
    assert (session.messages_held, session.messages_released) == (3, 3)
    assert (session.close_reason, session.end_reason) == ("kicked", "expired")
    assert (session.state, session.address, session.clean) == ("ended", "[::1]:9", False)
    assert (session.first_sequence, session.last_sequence) == (1, 11)
    assert session.opened < session.connected < session.closed < session.ended


def test_the_golden_segments_become_the_rows_that_the_contract_promises(story: Story) -> None:
    rows = story.place.rows
    readings = rows("sensor_readings", "gateway = 'gw-golden'")
    values = {(row.quantity, row.value, row.string_value, row.boolean_value) for row in readings}
    assert values == {
        ("temperature", 21.5, None, None),
        ("door", None, None, True),
        ("state", None, "ok", None),
    }
    (gateway,) = (one for one in story.first.gateways if one.gateway == "gw-golden")
    assert (gateway.boots, gateway.first_sequence, gateway.last_sequence) == (2, 1, 61)
    assert (gateway.events, gateway.segments) == (55, 5)
    (gap,) = story.gaps(story.first, "gw-golden")
    assert (gap.from_sequence, gap.to_sequence) == (41, 46)
    assert "log_truncated" in gap.detail
    (later,) = rows("events", "event = 'published_by_a_later_version'")
    assert json.loads(later.extra) == {"reason": 7, "spread": {"a": [1, 2.5, None, "x"]}}
    assert later.client_id == "naïve 客户"
    states = {row.client_id: row.state for row in rows("sessions", "gateway = 'gw-golden'")}
    assert states == {
        "oncegate-bridge": "away",
        "page": "ended",
        "naïve 客户": "ended",
        "phone": "away",
    }


def test_directories_and_files_with_the_characters_of_patterns_are_taken_literally(
    story: Story,
) -> None:
    rows = story.place.rows
    assert len(rows("events", "gateway = 'odd'")) == 2
    refused = {row.name for row in rows("segments", "state = 'quarantined'")}
    assert refused >= {f"{name}.zst" for name in stories.ODD_NAMES}
    assert story.first.files_ignored == 1
    assert not any(name.startswith(".") for name in refused)


def test_a_chain_that_names_another_segment_is_a_gap_even_when_no_number_is_missing(
    story: Story,
) -> None:
    (gap,) = story.gaps(story.healed, "chain")
    assert (gap.kind, gap.segment, gap.from_sequence) == ("chain", 2, None)
    assert "ab" * 32 in gap.detail


def test_a_new_database_that_counts_from_one_again_is_no_gap_and_hides_none(story: Story) -> None:
    found = story.gaps(story.first, "rebuilt")
    assert [(g.kind, g.from_sequence, g.to_sequence) for g in found] == [("sequence", 2, 2)]
    assert story.gaps(story.healed, "rebuilt") == []
    (gateway,) = (one for one in story.healed.gateways if one.gateway == "rebuilt")
    assert (gateway.boots, gateway.events) == (2, 5)


def test_a_source_that_does_not_exist_is_said_in_one_line(place: Place) -> None:
    place.landing.rmdir()
    with pytest.raises(IngestError, match="landed does not exist; let the gateway upload"):
        place.run()


def test_a_table_of_an_earlier_version_is_given_the_columns_that_came_later(story: Story) -> None:
    rows = story.place.rows("quarantine", "kind = 'segment'")
    assert {row.refused for row in rows} == {1}


def test_a_table_of_another_version_is_refused_and_left_alone(place: Place) -> None:
    place.spark.range(1).write.format("delta").save(f"{place.settings.tables}/segments")
    with pytest.raises(IngestError, match="another version of this job"):
        place.run()
    assert len(place.rows("segments")) == 1
