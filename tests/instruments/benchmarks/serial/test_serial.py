"""Fully loaded lines through the bridge, shorter than `make bench-serial`. No time is asserted."""

import functools
import os
from pathlib import Path

import pytest

from tests.instruments.benchmarks.brokers import mosquitto, oncegate
from tests.instruments.benchmarks.serial import report, ways
from tests.instruments.benchmarks.serial.line_writer import Sender
from tests.instruments.benchmarks.serial.lines import Device, line_of, named_in, verdict_of
from tests.instruments.benchmarks.serial.run import Broker, measure

ROOT = Path(__file__).resolve().parents[4]
PLAIN = functools.partial(oncegate, build=ROOT)
SENT = {0: [1_000_000, 2_000_000], 1: [1_000_000]}


def test_a_line_has_its_length_and_names_itself_in_every_payload() -> None:
    line = line_of(3, 17, 64)
    assert len(line) == 64
    assert named_in(line) == (3, 17)
    assert named_in(b'[{"n":"sensors/p3/v","vs":"3.17.xxx"}]') == (3, 17)
    assert named_in(line_of(3, "w", 64)) is None


@pytest.mark.parametrize(
    ("arrived", "lost", "doubled"),
    [
        ([(0, 0), (0, 1), (1, 0)], 0, 0),
        ([(0, 0), (1, 0)], 1, 0),
        ([(0, 0), (0, 1), (1, 0), (0, 0)], 0, 1),
        ([(0, 0), (0, 1), (1, 0), (1, 1)], 0, 1),
    ],
    ids=["whole", "one lost", "one twice", "one that was not sent"],
)
def test_what_is_lost_or_doubled_is_found(
    arrived: list[tuple[int, int]], lost: int, doubled: int
) -> None:
    payloads = [(4_000_000, line_of(*each, 64)) for each in arrived]
    verdict = verdict_of(SENT, payloads, named_in)
    assert (verdict.lost, verdict.doubled) == (lost, doubled)
    row = {"sent": 3, "lost": lost, "doubled": doubled, "waited_bytes_max": 0}
    assert report.is_sound(row) == (lost == doubled == 0)
    assert not report.is_sound({**row, "waited_bytes_max": report.DRIVER_BUFFER_BYTES})
    assert not report.is_sound({**row, "sent": 0})


def test_the_latency_is_from_the_last_byte_of_its_line() -> None:
    verdict = verdict_of(SENT, [(4_000_000, line_of(0, 1, 64))], named_in)
    assert verdict.latencies_ms == [2.0]
    assert verdict.percentile(0.99) == 2.0


def test_a_device_sends_at_its_rate_and_counts_what_nothing_takes() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    sender = Sender(0, writer, Device(10_000, 50))
    sender.send(0.1, begin_lines=True)
    assert len(os.read(reader, 4096)) == 100
    assert len(sender.sent_ns) == 2
    assert sender.waited_bytes_max == 0
    sender.send(100.0, begin_lines=True)
    assert sender.waited_bytes_max == 100_000 - 100 - 65_536
    assert not sender.is_empty
    os.close(reader)
    os.close(writer)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broker", "way", "devices"),
    [
        (PLAIN, ways.bridge, [Device(115_200, 64)] * 8),
        (PLAIN, ways.bridge, [Device(3_000_000, 250)]),
        (mosquitto, ways.ser2net, [Device(115_200, 64)] * 2),
    ],
    ids=["eight at 115200", "one at 3000000", "the peer"],
)
def test_full_lines_arrive_once(broker: Broker, way: ways.Way, devices: list[Device]) -> None:
    row = measure(broker, way, devices, 1.0)
    assert row["sent"] > 0
    assert report.is_sound(row), row
    assert "| 0 | 0 |" in report.table_of([{"way": "a way", **row}])
