"""Numbered frames of each protocol, through the bridge and shorter than `make bench-serial`."""

import functools
from pathlib import Path

import pytest

from tests.instruments.benchmarks.brokers import oncegate
from tests.instruments.benchmarks.serial import report
from tests.instruments.benchmarks.serial.protocol_run import measure_protocol
from tests.instruments.benchmarks.serial.protocols import PROTOCOLS, Protocol

ROOT = Path(__file__).resolve().parents[4]
PLAIN = functools.partial(oncegate, build=ROOT)
SECONDS = 8.0
"""A D0 meter that misses the first request is asked again within this time."""


@pytest.mark.parametrize(
    ("line", "baud_rate", "bits"),
    [("9600 8N1", 9600, 10), ("2400 8E1", 2400, 11), ("300 7E1", 300, 10), ("9600 8N2", 9600, 11)],
)
def test_a_byte_takes_the_time_of_all_its_bits(line: str, baud_rate: int, bits: int) -> None:
    assert Protocol("", line, "energy", 1).byte_seconds == bits / baud_rate


def test_a_reading_of_the_counter_has_device_and_number() -> None:
    vedirect = PROTOCOLS["VE.Direct, 19200 8N1"]
    assert vedirect.named_in(b'[{"n":"p3/yield_total","v":1.7}]') == (3, 170)
    assert vedirect.named_in(b'[{"n":"p3/battery_voltage","v":12.8}]') is None


@pytest.mark.slow
@pytest.mark.parametrize("name", PROTOCOLS)
def test_each_frame_of_each_protocol_arrives_once(name: str) -> None:
    row = measure_protocol(PLAIN, name, SECONDS)
    assert report.is_sound(row), row
    assert row["readings"] >= row["sent"]
    machine = {"load_average": 0.5}
    page = "# Lines\n\n" + report.METHOD
    for _ in range(2):  # the section is replaced, not added
        page = report.with_protocols(page, [row], machine)
    assert page.count(report.PROTOCOLS_HEADING) == page.count(report.METHOD_HEADING) == 1
    assert "Load average 0.5 before the start." in page
    assert f"| {name} | {row['sent']:,} | 0 | 0 |" in page
