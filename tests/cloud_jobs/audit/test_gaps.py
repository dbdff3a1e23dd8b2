"""Events that have not arrived are a gap until they land."""

from __future__ import annotations

from tests.cloud_jobs.conftest import Ingested


def test_missing_and_refused_segments_are_gaps_until_good_ones_land(ingested: Ingested) -> None:
    gaps = {
        (gap.from_sequence, gap.to_sequence): gap.detail
        for gap in ingested.gaps(ingested.first, "damaged")
        if gap.kind == "sequence"
    }
    assert set(gaps) == {(12, 21), (32, 61)}
    assert "is in quarantine: cut" in gaps[12, 21]
    assert "is in quarantine: damaged" in gaps[32, 61]
    assert [g for g in ingested.gaps(ingested.healed, "damaged") if g.kind == "sequence"] == []
    rows = ingested.place.rows
    healed = rows("events", "gateway = 'damaged'")
    assert sorted(row.sequence for row in healed) == list(range(1, 72))
    assert len(rows("sensor_readings", "gateway = 'damaged'")) == 35
    assert rows("segments", "gateway = 'damaged' AND state != 'ingested'") == []


def test_a_chain_that_names_another_segment_is_a_gap_even_when_no_number_is_missing(
    ingested: Ingested,
) -> None:
    (gap,) = ingested.gaps(ingested.healed, "chain")
    assert (gap.kind, gap.segment, gap.from_sequence) == ("chain", 2, None)
    assert "ab" * 32 in gap.detail


def test_a_new_database_that_counts_from_one_again_is_no_gap_and_hides_none(
    ingested: Ingested,
) -> None:
    found = ingested.gaps(ingested.first, "rebuilt")
    assert [(g.kind, g.from_sequence, g.to_sequence) for g in found] == [("sequence", 2, 2)]
    assert ingested.gaps(ingested.healed, "rebuilt") == []
    (gateway,) = (one for one in ingested.healed.gateways if one.gateway == "rebuilt")
    assert (gateway.boots, gateway.events) == (2, 5)
