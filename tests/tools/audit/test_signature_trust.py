"""The key that vouches for each segment, and forged segments in an audit of files."""

from pathlib import Path

import pytest

from gateway.tools.audit.findings import Findings
from gateway.tools.audit.run import Audit
from gateway.tools.audit.signature_trust import SignatureTrust
from gateway.uploader.segments.names import SegmentName
from tests.audit_checks.events import begin, life
from tests.contract.segments import (
    OTHER_SEED,
    SEED,
    LogWriter,
    Segment,
    public_key_of,
    sealed,
)

KEY, OTHER = public_key_of(SEED), public_key_of(OTHER_SEED)


def name(segment: int, gateway: str = "gw-1") -> SegmentName:
    return SegmentName(gateway, "0" * 16, segment, segment, segment, "0" * 64)


def test_the_first_key_is_trusted_and_unsigned_segments_only_before_it() -> None:
    trust = SignatureTrust({})
    assert trust.objection_to(name(1), None) is None
    assert trust.objection_to(name(2), KEY) is None
    assert "is no known key of gw-1" in str(trust.objection_to(name(3), OTHER))
    assert "is unsigned" in str(trust.objection_to(name(4), None))
    assert trust.objection_to(name(1, "gw-2"), OTHER) is None
    assert trust.segments == {
        ("gw-1", None): 2,
        ("gw-1", KEY): 1,
        ("gw-1", OTHER): 1,
        ("gw-2", OTHER): 1,
    }


def test_pinned_keys_are_the_only_ones_and_nothing_unsigned_is_taken() -> None:
    trust = SignatureTrust({"gw-1": [KEY, OTHER]})
    trust.add_keys("gw-1", ["cc" * 32])
    assert trust.objection_to(name(1), None) is not None
    assert trust.objection_to(name(2), KEY) is None
    assert trust.objection_to(name(3), OTHER) is None
    assert trust.objection_to(name(4), "cc" * 32) is not None


def test_the_device_s_own_keys_are_trusted_one_after_the_other() -> None:
    trust = SignatureTrust({})
    trust.add_keys("gw-1", [KEY, OTHER])
    assert trust.objection_to(name(1), None) is None
    assert trust.objection_to(name(2), KEY) is None
    assert trust.objection_to(name(3), OTHER) is None
    assert trust.objection_to(name(4), None) is not None


def a_log(seed: bytes | None = SEED) -> LogWriter:
    log = LogWriter(seed=seed)
    log.seal(begin(*life(1, 0)))
    log.seal(life(2, 1))
    log.seal(life(3, 2))
    return log


def in_place_of(real: Segment, log: LogWriter, **changes: object) -> Segment:
    """Return a segment with the second segment's events, sealed by someone else."""
    first = log.segments[0]
    count = len(begin(*life(1, 0)))
    events = [
        {"sequence": count + 1 + n, "time": log.time_ms, **event}
        for n, event in enumerate(life(2, 1))
    ]
    made = sealed(
        events,
        first_sequence=count + 1,
        segment=2,
        previous_sha256=first.sha256,
        **changes,  # type: ignore[arg-type]
    )
    assert made.name != real.name
    return made


def audited(directory: Path, pinned: dict[str, list[str]] | None = None) -> Findings:
    return Audit(directory, lambda _events, _what: None, pinned or {}).folder(directory)


def test_a_signed_log_is_ok_and_its_key_is_counted(tmp_path: Path) -> None:
    for segment in a_log().segments:
        segment.write_to(tmp_path)
    findings = audited(tmp_path)
    assert findings.verdict == "ok", findings.exceptions
    assert findings.as_json()["signatures"] == [
        {"gateway": "gw-1", "public_key": KEY, "segments": 3}
    ]
    assert audited(tmp_path, {"gw-1": [KEY]}).verdict == "ok"
    assert audited(tmp_path, {"gw-1": [OTHER]}).verdict == "inconclusive"


def test_an_unsigned_log_is_ok_and_counted_as_such_until_keys_are_pinned(tmp_path: Path) -> None:
    for segment in a_log(seed=None).segments:
        segment.write_to(tmp_path)
    findings = audited(tmp_path)
    assert (findings.verdict, dict(findings.signatures)) == ("ok", {("gw-1", None): 3})
    assert audited(tmp_path, {"gw-1": [KEY]}).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"seed": OTHER_SEED}, "is no known key of gw-1"),
        ({"seed": None}, "is unsigned, and gw-1 signs its segments"),
        ({"seed": SEED, "footer": {"signature": "00" * 64}}, "the signature is not one of the key"),
        ({"seed": SEED, "footer": {"public_key": OTHER}}, "the signature is not one of the key"),
        ({"seed": SEED, "footer": {"signature": None}}, "signature is not 128 hexadecimal digits"),
    ],
)
def test_a_forged_segment_is_not_used_and_is_named(
    tmp_path: Path, changes: dict[str, object], detail: str
) -> None:
    log = a_log()
    forged = in_place_of(log.segments[1], log, **changes)
    for segment in (log.segments[0], forged, log.segments[2]):
        segment.write_to(tmp_path)
    findings = audited(tmp_path)
    assert findings.verdict == "inconclusive"
    (found,) = (one for one in findings.exceptions if one.segment == forged.name)
    assert detail in found.detail
    assert found.check == "log"


def test_the_signature_of_another_gateway_s_segment_does_not_hold(tmp_path: Path) -> None:
    other = LogWriter(gateway="gw-2", seed=SEED)
    other.seal(begin(*life(1, 0)))
    log = LogWriter(seed=SEED)
    (mine, theirs) = (log.seal(begin(*life(1, 0))), other.segments[0])
    assert mine.name != theirs.name
    theirs.write_to(tmp_path)
    path = tmp_path / theirs.name
    path.rename(tmp_path / theirs.name.replace("gw-2", "gw-1"))
    findings = audited(tmp_path)
    (found,) = findings.exceptions
    assert "gateway is 'gw-2', expected 'gw-1'" in found.detail
