"""The segments of the benchmark are like those of gateways: trusted, and parsed as a whole."""

from __future__ import annotations

from pathlib import Path

from cloud_jobs.ingest.segment_columns import verify_in_columns
from gateway.tools.audit.run import Audit
from tests.instruments.benchmarks.cloud.fleet import Gateway, land
from tests.instruments.benchmarks.cloud.processor import measured


def test_a_gateways_log_goes_on_from_segment_to_segment(tmp_path: Path) -> None:
    gateways = [Gateway(1), Gateway(2)]
    with measured() as cost:
        landed = land(tmp_path, gateways, events=400, segment_events=100)
    assert landed >= 400
    assert cost.seconds > 0
    sequences: dict[str, list[int]] = {}
    for path in sorted(tmp_path.iterdir()):
        verdict, events = verify_in_columns(path.name, path.read_bytes(), path.stat().st_size)
        assert (verdict.reason, verdict.bad_lines) == (None, 0)
        assert verdict.header is not None
        assert events is not None
        of_gateway = sequences.setdefault(verdict.header.gateway, [])
        of_gateway += events.column("sequence").to_pylist()
    assert sum(map(len, sequences.values())) == landed
    assert all(found == list(range(1, len(found) + 1)) for found in sequences.values())


def test_the_gateways_own_audit_finds_nothing_in_a_log(tmp_path: Path) -> None:
    land(tmp_path, [Gateway(1)], events=400, segment_events=100)
    findings = Audit(tmp_path, lambda _events, _what: None).folder(tmp_path)
    assert (findings.verdict, findings.exceptions) == ("ok", [])
