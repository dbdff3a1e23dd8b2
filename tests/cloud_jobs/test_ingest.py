"""The job on a real Spark: what lands stands in the tables once, and what does not is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from cloud_jobs.delta_tables import IngestError
from cloud_jobs.main import ingest
from cloud_jobs.report import IngestReport
from cloud_jobs.settings import IngestSettings
from tests.contract.segments import (
    BOOT,
    Event,
    LogWriter,
    Segment,
    closed,
    held,
    numbered,
    opened,
    payload_of,
    published,
    readings,
    released,
    sealed,
)

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parent.parent / "contract" / "golden"
Rows = Callable[..., list[Row]]


@pytest.fixture
def rows(spark: SparkSession, tables: str) -> Rows:
    """Rows of a table, with an SQL condition."""

    def read(table: str, where: str = "true") -> list[Row]:
        return spark.read.format("delta").load(f"{tables}/{table}").where(where).collect()

    return read


def land(directory: Path, *segments: Segment) -> None:
    directory.mkdir(exist_ok=True)
    for segment in segments:
        segment.write_to(directory)


def counts(report: IngestReport) -> dict[str, int]:
    return {name: count.rows for name, count in report.tables.items()}


def test_ten_damaged_segments_give_each_good_row_once_and_every_fault_its_reason(
    landing: Path, run: Callable[[], IngestReport], rows: Rows
) -> None:
    log = LogWriter()
    for number in range(8):
        log.seal([opened()] if number == 0 else readings(5, first=5 * number))
    whole = log.segments
    land(landing, whole[0], whole[1], whole[3])
    # 1, 2: cut and bit-flipped.
    cut, flipped = whole[2], whole[4]
    (landing / cut.name).write_bytes(cut.content[: len(cut.content) // 2])
    (landing / flipped.name).write_bytes(_flipped(flipped.content))
    # 3, 4: doubled under another name, and in another directory. 5: renamed.
    (landing / "copy.jsonl.zst").write_bytes(whole[1].content)
    land(landing / "again", whole[3])
    (landing / whole[5].name.replace("gw-1", "gw-2")).write_bytes(whole[5].content)
    # 6: missing is whole[6]. 7: overlapping, the first half of the last one. 8: a malformed row.
    first = 1 + 10 * 6 + 1
    half = numbered(readings(5, first=35)[:4], first, log.time_ms - 100)
    land(landing, whole[7], sealed(half, first_sequence=first, segment=8))
    malformed: list[Event | bytes] = [b'{"sequence":oops}\n', *numbered([opened(9)], 2)]
    land(landing, sealed(malformed, first_sequence=1, gateway="gw-3", store="00" * 8))
    # 9: a bomb's size. 10: nothing in it.
    (landing / whole[6].name.replace("00000007", "00000077")).write_bytes(b"\0" * 8_200_000)
    (landing / "empty.jsonl.zst").write_bytes(b"")

    report = run()

    reasons = {(row.kind, row.reason) for row in rows("quarantine")}
    assert reasons >= {
        ("segment", "cut"),
        ("segment", "damaged"),
        ("segment", "renamed"),
        ("segment", "too_large"),
        ("line", "not_json"),
    }
    assert rows("quarantine", "kind = 'line'")[0].raw == '{"sequence":oops}'
    assert [row.reason for row in rows("segments", "name = 'copy.jsonl.zst'")] == ["duplicate"]
    assert len(rows("segments", f"name = '{whole[3].name}'")) == 1
    identities = [(row.gateway, row.boot, row.sequence) for row in rows("events")]
    assert len(identities) == len(set(identities))
    expected = {1, *range(2, 12), *range(22, 32), *range(62, 72)}
    assert {s for g, _, s in identities if g == "gw-1"} == expected
    assert {s for g, _, s in identities if g == "gw-3"} == {2}
    gaps = {
        (gap.from_sequence, gap.to_sequence): gap.detail
        for gap in report.gaps
        if gap.kind == "sequence"
    }
    assert set(gaps) == {(12, 21), (32, 61)}
    assert "quarantine: cut" in gaps[12, 21]
    assert report.events_duplicate > 0

    # Good copies under the right names heal everything but what still is missing.
    land(landing, whole[2], whole[4], whole[5], whole[6])
    healed = run()
    assert {g.kind for g in healed.gaps if g.gateway == "gw-1"} <= {"unread", "chain"}
    assert len(rows("events", "gateway = 'gw-1'")) == 71
    assert len(rows("sensor_readings", "gateway = 'gw-1'")) == 35
    before = counts(healed)
    nothing_new = run()
    assert (nothing_new.batches, counts(nothing_new)) == (0, before)


def _flipped(content: bytes) -> bytes:
    changed = bytearray(content)
    changed[len(changed) // 2] ^= 0x10
    return bytes(changed)


def test_a_message_becomes_a_reading_when_both_halves_have_landed_in_whatever_order(
    landing: Path, run: Callable[[], IngestReport], rows: Rows
) -> None:
    log = LogWriter()
    first = log.seal([held(1, payload_of(1.0, sequence=1)), held(2, payload_of(2.0, sequence=2))])
    second = log.seal([released(1), held(3, payload_of(3.0, sequence=3))])
    third = log.seal([released(2), released(3)])
    land(landing, third, first)
    run()
    assert [row.value for row in rows("sensor_readings")] == [2.0]
    land(landing, second)
    report = run()
    found = {row.value: (row.device_sequence, row.message) for row in rows("sensor_readings")}
    assert found == {1.0: (1, 1), 2.0: (2, 2), 3.0: (3, 3)}
    assert report.readings_new == 2
    assert report.gaps_count == 0


def test_payloads_are_read_as_rfc_8428_says_or_refused_with_a_reason(
    landing: Path, run: Callable[[], IngestReport], rows: Rows
) -> None:
    based = [
        {"bn": "urn:dev:1:", "bt": 1763715100.0, "bu": "A", "n": "current", "v": 1.25},
        {"n": "voltage", "u": "V", "t": 5, "v": 230},
        {"n": "state", "vs": "on"},
        {"n": "door", "vb": False},
        {"n": "picture", "vd": "aGk"},
        {"n": "energy", "s": 7.5},
    ]
    good: list[object] = [based, [{"n": "now", "t": -2, "v": 1}], [{"n": "plain", "v": 1}]]
    bad = [
        "",
        "not json",
        "21.5",
        "[]",
        '{"n":"x","v":1}',
        "[1]",
        '[{"v":1}]',
        '[{"n":"x"}]',
        '[{"n":"x","v":"21.5"}]',
        '[{"n":"x","v":1,"vb":true}]',
        '[{"n":"x","v":1e400}]',
        '[{"n":"x","t":1e300,"v":1}]',
        '[{"n":"x","v":1}] trailing',
        '[{"n":"x","v":1}],[{"n":"y","v":2}]',
        '[{"n":"x","v":1}]},{"a":[1]',
        '[{"n":"x","v":NaN}]',
        '[{"n":"x","n":"y","v":1}]',
        '[{"n":"x","v":1,"device":"d","boot":"3","sequence":1}]',
        "[" * 5000,
    ]
    twice = [
        {"n": "pair", "t": 1763715100 + k, "v": k, "device": "d", "boot": 1, "sequence": 1}
        for k in range(2)
    ]
    events = [published(k, json.dumps(value)) for k, value in enumerate([*good, twice], 1)]
    events += [published(100 + k, payload) for k, payload in enumerate(bad)]
    binary = {k: v for k, v in published(200, "").items() if k != "payload"}
    events += [binary | {"payload_base64": "/w==", "payload_bytes": 1}]
    events += [binary | {"message": 201, "payload_sha256": "0" * 64}]
    land(landing, LogWriter().seal(events))

    report = run()

    found = {row.name: row for row in rows("sensor_readings")}
    assert set(found) == {*(f"urn:dev:1:{record['n']}" for record in based), "now", "plain", "pair"}
    assert found["urn:dev:1:current"].unit == "A"
    voltage = found["urn:dev:1:voltage"]
    assert (voltage.value, voltage.unit, voltage.time.timestamp()) == (230.0, "V", 1763715105.0)
    assert found["urn:dev:1:state"].string_value == "on"
    assert found["urn:dev:1:door"].boolean_value is False
    assert found["urn:dev:1:picture"].data_value == "aGk"
    assert (found["urn:dev:1:energy"].sum, found["urn:dev:1:energy"].value) == (7.5, None)
    now = found["now"]
    assert (now.delivered_at - now.time).total_seconds() == pytest.approx(2)
    assert len(rows("sensor_readings", "name = 'pair'")) == 2
    refused = rows("quarantine", "kind = 'payload'")
    assert {row.raw for row in refused} == {*bad, "/w=="}
    assert all(row.reason == "not_senml" and row.sequence for row in refused)
    assert report.tables["events"].rows == len(events)


def test_a_reading_sent_again_is_one_reading_and_another_value_is_a_conflict(
    landing: Path, run: Callable[[], IngestReport], rows: Rows
) -> None:
    same = payload_of(1.0, sequence=1)
    other = payload_of(9.0, sequence=1)
    log = LogWriter()
    land(landing, log.seal([published(1, same), published(2, same)]))
    run()
    land(landing, log.seal([published(3, same), published(4, other)]))
    report = run()
    assert [row.value for row in rows("sensor_readings")] == [1.0]
    conflict = rows("quarantine")
    assert [(row.kind, row.reason, row.sequence) for row in conflict] == [
        ("reading", "conflict", 4)
    ]
    assert json.loads(conflict[0].raw)["value"] == 9.0
    assert report.readings_duplicate == 1


def test_two_segments_that_contradict_each_other_are_not_believed_twice(
    landing: Path, run: Callable[[], IngestReport], rows: Rows
) -> None:
    land(
        landing,
        sealed(numbered([opened(1, "a"), closed(1, "a")], 1), first_sequence=1),
        sealed(numbered([opened(1, "b"), closed(1, "a")], 1), first_sequence=1, segment=2),
    )
    report = run()
    assert [row.client_id for row in rows("events", "sequence = 1")] == ["a"]
    refused = rows("quarantine")
    assert [(row.kind, row.reason, row.sequence) for row in refused] == [("event", "conflict", 1)]
    assert '"client_id":"b"' in refused[0].raw
    assert (report.events_new, report.events_duplicate) == (2, 1)


def test_a_session_is_one_row_however_many_batches_tell_its_story(
    landing: Path, run: Callable[[], IngestReport], rows: Rows
) -> None:
    log = LogWriter()
    story = [
        [opened(), *readings(2), closed()],
        [{**opened(), "event": "session_resumed", "address": "[::1]:9"}, *readings(1, first=9)],
        [closed(reason="kicked"), {**closed(reason="expired"), "event": "session_ended"}],
    ]
    one, two, three = (log.seal(events) for events in story)
    land(landing, one, three)
    run()
    assert [row.state for row in rows("sessions")] == ["ended"]
    land(landing, two)
    run()
    (session,) = rows("sessions")
    assert (session.connects, session.disconnects) == (2, 2)
    assert (session.messages_held, session.messages_released) == (3, 3)
    assert (session.close_reason, session.end_reason, session.state) == (
        "kicked",
        "expired",
        "ended",
    )
    assert (session.address, session.first_sequence, session.last_sequence) == ("[::1]:9", 1, 11)
    assert session.opened < session.connected < session.closed < session.ended
    assert session.events == 11


def test_the_golden_segments_become_the_rows_that_the_contract_promises(
    spark: SparkSession, tables: str, rows: Rows
) -> None:
    report = ingest(
        spark,
        IngestSettings(source=GOLDEN.as_uri(), tables=tables),
        lambda _: None,
        lambda _: None,
    )
    assert (report.segments_ingested, report.events_new, report.files_ignored) == (3, 49, 1)
    values: set[Any] = {
        row.value if row.value is not None else row.string_value or row.boolean_value
        for row in rows("sensor_readings")
    }
    assert values == {21.5, True, "ok"}
    assert {row.quantity for row in rows("sensor_readings")} == {"temperature", "door", "state"}
    (gateway,) = report.gateways
    assert (gateway.boots, gateway.first_sequence, gateway.last_sequence) == (2, 1, 55)
    (gap,) = report.gaps
    assert (gap.from_sequence, gap.to_sequence) == (41, 46)
    assert "log_truncated" in gap.detail
    (later,) = rows("events", "event = 'published_by_a_later_version'")
    assert json.loads(later.extra) == {"reason": 7, "spread": {"a": [1, 2.5, None, "x"]}}
    assert later.client_id == "naïve 客户"
    assert [row.reason for row in rows("quarantine")] == ["not_senml"]
    states = {row.client_id: row.state for row in rows("sessions")}
    assert states == {"oncegate-bridge": "away", "page": "ended", "naïve 客户": "ended"}


def test_directories_and_files_with_the_characters_of_patterns_are_taken_literally(
    landing: Path, run: Callable[[], IngestReport], rows: Rows
) -> None:
    log = LogWriter()
    land(landing / "a[b]{c,d}*? %20=#", log.seal([opened()]))
    land(landing / "day=7", log.seal([closed()]))
    for name in ("[x", "{", "*", "?", "\\", "a b", "%zz", "ü"):
        (landing / f"{name}.zst").write_bytes(b"nonsense " * 5)
    (landing / "half.jsonl.zst.part").write_bytes(b"")
    (landing / ".hidden.zst").write_bytes(b"")
    report = run()
    assert (report.events_new, report.segments_quarantined, report.files_ignored) == (2, 8, 1)
    assert report.gaps_count == 0
    assert run().batches == 0


def test_a_chain_that_names_another_segment_is_a_gap_even_when_no_number_is_missing(
    landing: Path, run: Callable[[], IngestReport]
) -> None:
    log = LogWriter()
    land(landing, log.seal([opened()]))
    log.previous_sha256 = "ab" * 32
    land(landing, log.seal([closed()]))
    (gap,) = run().gaps
    assert (gap.kind, gap.segment, gap.from_sequence) == ("chain", 2, None)
    assert "ab" * 32 in gap.detail


def test_a_new_database_that_counts_from_one_again_is_no_gap_and_hides_none(
    landing: Path, run: Callable[[], IngestReport]
) -> None:
    log = LogWriter()
    land(landing, log.seal([opened(), closed()]))
    log.store, log.boot, log.sequence = "0123456789abcdef", "fedcba9876543210", 1
    land(landing, log.seal([opened()]))
    lost = log.seal([closed()])
    land(landing, log.seal([opened(2)]))
    report = run()
    assert [(g.kind, g.from_sequence, g.to_sequence) for g in report.gaps] == [("sequence", 2, 2)]
    (gateway,) = report.gateways
    assert (gateway.boots, gateway.events) == (2, 4)
    land(landing, lost)
    assert run().gaps_count == 0
    assert log.boot != BOOT


def test_a_source_that_does_not_exist_is_said_in_one_line(
    spark: SparkSession, tmp_path: Path, tables: str
) -> None:
    settings = IngestSettings(source=str(tmp_path / "nowhere"), tables=tables)
    with pytest.raises(IngestError, match="nowhere does not exist; let the gateway upload"):
        ingest(spark, settings, lambda _: None, lambda _: None)


def test_a_table_of_another_version_is_refused_and_left_alone(
    spark: SparkSession, landing: Path, tables: str
) -> None:
    spark.range(1).write.format("delta").save(f"{tables}/events")
    settings = IngestSettings(source=str(landing), tables=tables)
    with pytest.raises(IngestError, match="another version of this job"):
        ingest(spark, settings, lambda _: None, lambda _: None)
    assert spark.read.format("delta").load(f"{tables}/events").count() == 1
