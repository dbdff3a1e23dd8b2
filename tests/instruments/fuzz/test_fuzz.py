"""The fuzzer for a few seconds: earlier findings stay fixed, and planted defects are found."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.instruments.fuzz.byte_program import joined, records_of
from tests.instruments.fuzz.campaign import ROOT, Campaign, run_all, why_not
from tests.instruments.fuzz.connection_target import CUT_AT_THE_END
from tests.instruments.fuzz.findings import FOUND, Finding
from tests.instruments.fuzz.minimising import failure_of, minimised, place_of
from tests.instruments.fuzz.report import report_of
from tests.instruments.fuzz.targets import ALL, PLANTED, TARGETS

RUNS = {
    "decoder": 4_000,
    "connection": 800,
    "journal": 150,
    "segment": 800,
    "framing": 1_000,
}
"""Runs per target, which take a few seconds on a quiet machine.

They are counted, so that a busy machine tests as much. `make fuzz` runs longer.
"""


class Defect(NamedTuple):
    """The target of a planted defect, the runs in which it must be found, and its exception."""

    target: str
    runs_max: int
    raises: str


DEFECTS = {
    "decoder-that-raises": Defect("decoder", 200_000, "planted in the decoder"),
    # Sent before its commit: CONNACK, SUBACK, PUBREC and PUBLISH, or PUBREL.
    "broker-in-haste": Defect(
        "connection", 25_000, r"Error: [A-Z]+( \d+)? was sent(, and .* (gone|forgotten)| too soon)"
    ),
    "journal-that-takes-zeros-for-the-end": Defect("journal", 5_000, "taken for the end"),
    "segment-that-is-believed": Defect("segment", 5_000, "accepted with sequences"),
    "framing-that-raises": Defect("framing", 200_000, "planted in the framing"),
}
LONG = ("broker-in-haste", "framing-that-raises")
"""Targets that need half a minute of processor time each."""
COVERAGE_MIN = {
    "decoder": 500,
    "connection": 500,
    "journal": 150,
    "segment": 60,
    "framing": 150,
}
SECONDS_MAX = 300
SEED = 1
"""A fixed seed for the same run each time: random runs belong to `make fuzz`."""

needs_atheris = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


@pytest.mark.parametrize("finding", FOUND, ids=lambda finding: finding.name)
def test_what_was_found_before_is_mended(finding: Finding) -> None:
    TARGETS[finding.target].check(finding.data)


@pytest.mark.parametrize("name", PLANTED if why_not() is None else ALL)
def test_no_seed_raises_not_even_where_a_defect_is_planted(name: str) -> None:
    """The targets without a defect begin with these seeds, on machines that can fuzz."""
    for seed in ALL[name].seeds():
        assert len(seed) <= ALL[name].input_bytes_max
        ALL[name].check(seed)


@pytest.mark.slow
@needs_atheris
@pytest.mark.timeout(2 * SECONDS_MAX)
async def test_a_short_run_finds_nothing(tmp_path: Path) -> None:
    campaigns = [
        Campaign(name, tmp_path, SECONDS_MAX, seed=SEED, runs_max=RUNS[name]) for name in TARGETS
    ]
    await run_all(campaigns, lambda: None, 1.0)
    for campaign in campaigns:
        assert campaign.finding is None, report_of(campaign.name, campaign.finding)
        assert campaign.runs >= RUNS[campaign.name], f"{campaign.runs} runs in {SECONDS_MAX} s"
        assert campaign.coverage > COVERAGE_MIN[campaign.name], "the code is not instrumented"
        assert list((tmp_path / "inputs" / campaign.name).iterdir()), "nothing was learnt"


@pytest.mark.slow
@needs_atheris
@pytest.mark.timeout(2 * SECONDS_MAX)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long if name in LONG else ()) for name in PLANTED],
)
def test_a_planted_defect_is_found(name: str, tmp_path: Path) -> None:
    defect = DEFECTS[name]
    campaign = Campaign(name, tmp_path, SECONDS_MAX, seed=SEED, runs_max=defect.runs_max)
    asyncio.run(campaign.run())
    assert campaign.finding is not None, f"not found in {campaign.runs} runs"
    report = report_of(name, campaign.finding)
    assert re.search(defect.raises, report), report
    # The planted defect was found: without the defect nothing is raised.
    TARGETS[defect.target].check(campaign.finding.read_bytes())
    assert f'"{name}",\n        bytes.fromhex(' in report
    assert (tmp_path / "findings" / f"{campaign.finding.name}.txt").read_text().startswith(name)


TIMER_STOPPED = """
import contextlib, signal
from tests.instruments.fuzz.fuzzing_process import stopping_the_timer
def check(data):
    if data:
        raise ValueError
checked = stopping_the_timer(check)
signal.setitimer(signal.ITIMER_REAL, 1000)
checked(b"")
assert signal.getitimer(signal.ITIMER_REAL)[0]
with contextlib.suppress(ValueError):
    checked(b"a")
assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
"""


@needs_atheris
def test_no_timer_runs_while_a_process_that_found_something_ends() -> None:
    # In a separate process, because pytest uses this one's timer.
    subprocess.run([sys.executable, "-c", TIMER_STOPPED], cwd=ROOT, check=True, timeout=60)


def test_a_finding_is_made_as_small_as_it_gets() -> None:
    defect = PLANTED["decoder-that-raises"]
    empty = bytes.fromhex("3a 05 00 01 61 60 01")
    pings = bytes.fromhex("c0 00") * 20
    found = b"\x02\x00\x00" + pings + empty + pings
    small = minimised(defect, found)
    assert len(small) == len(empty) + 3
    assert place_of(failure_of(defect.check, small)) == place_of(failure_of(defect.check, found))


def test_needless_actions_are_left_out_of_a_finding() -> None:
    defect = PLANTED["broker-in-haste"]
    join, publish, ping = b"\x02\x01\x00\x00\x00", b"\x00\x00\x02\x00\x01\x01\x00", b"\x00\x06"
    found = bytes([CUT_AT_THE_END | 1]) + joined([ping, join, ping, ping, publish, ping])
    assert failure_of(defect.check, found) is not None
    assert records_of(minimised(defect, found)[1:]) == [join, publish]


def test_a_line_of_progress_is_read(tmp_path: Path) -> None:
    campaign = Campaign("decoder", tmp_path, 1)
    campaign.take(
        "#16384\tpulse  cov: 738 ft: 2123 corp: 271/5030b lim: 134 exec/s: 5461 rss: 59Mb"
    )
    campaign.take("artifact_prefix='x'; Test unit written to /f/decoder-crash-1")
    assert (campaign.runs, campaign.coverage, campaign.inputs) == (16_384, 738, 271)
    assert campaign.per_second == 5_461
    assert campaign.finding == Path("/f/decoder-crash-1")


def test_records_are_cut_apart_and_joined_again() -> None:
    records = [b"\x00", b"\x01abc", b"\xff" + bytes(255)]
    assert records_of(joined(records)) == records
    assert records_of(b"\x05\x09ab") == [b"\x05ab"]
    assert records_of(b"\x05") == [b"\x05"]


def test_an_unknown_target_is_refused_in_one_line() -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", "tests.instruments.fuzz", "no-such"],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
    )
    assert outcome.returncode == 2
    assert "expected some of decoder, connection, journal, segment, framing" in outcome.stderr
