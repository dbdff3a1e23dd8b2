"""Two segments with the same number, from before the gateway's first signature."""

from pathlib import Path

import pytest

from tests.audit_checks.events import life
from tests.contract.segments import OTHER_SEED, SEED, public_key_of, sealed
from tests.tools.audit.test_signature_trust import a_log, audited, in_place_of


@pytest.mark.parametrize("forged_is_first", [False, True])
def test_before_the_first_signature_the_chain_shows_the_real_segment(
    tmp_path: Path, *, forged_is_first: bool
) -> None:
    log = a_log(seed=None)
    log.seed = SEED
    log.seal(life(4, 3))
    real = log.segments[1]
    forged = next(
        made
        for digit in "0f"
        if ((made := in_place_of(real, log, boot=16 * digit)).name < real.name) is forged_is_first
    )
    for segment in (*log.segments, forged):
        segment.write_to(tmp_path)
    findings = audited(tmp_path)
    assert findings.verdict == "inconclusive"
    (found,) = findings.exceptions
    assert found.segment == forged.name
    assert "another segment 2 is the one that segment 3 names" in found.detail


def test_without_any_signature_the_newest_segment_shows_the_real_one(tmp_path: Path) -> None:
    log = a_log(seed=None)
    forged = in_place_of(log.segments[1], log, boot=16 * "f")
    for segment in (*log.segments, forged):
        segment.write_to(tmp_path)
    findings = audited(tmp_path)
    assert findings.verdict == "inconclusive"
    (found,) = findings.exceptions
    assert found.segment == forged.name


def test_a_segment_signed_with_an_unknown_key_vouches_for_none(tmp_path: Path) -> None:
    log = a_log(seed=None)
    log.seed = SEED
    log.seal(life(4, 3))
    forged = in_place_of(log.segments[1], log, boot=16 * "f")
    names_forged = sealed(
        [{"sequence": 1, "time": log.time_ms, **life(9, 0)[0]}],
        first_sequence=1,
        segment=3,
        boot=16 * "f",
        previous_sha256=forged.sha256,
        seed=OTHER_SEED,
    )
    for segment in (*log.segments, forged, names_forged):
        segment.write_to(tmp_path)
    key = {"gw-1": [public_key_of(SEED)]}
    named = {each.segment: each.detail for each in audited(tmp_path, key).exceptions}
    assert "another segment 2 is the one that segment 3 names" in named[forged.name]
