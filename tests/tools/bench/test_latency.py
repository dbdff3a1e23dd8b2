"""Latencies count from the correct moment, and percentiles are those of the samples."""

import math
from typing import Any

import pytest

from gateway.tools.bench import latency
from gateway.tools.bench.latency import Samples, Schedule, SendTimes


def samples_of(*seconds: float) -> Samples:
    samples = Samples()
    for value in seconds:
        samples.add(value)
    return samples


def test_percentiles_are_taken_from_the_sorted_samples() -> None:
    figures = samples_of(*(index / 1000 for index in range(1000))).percentiles_ms()
    assert figures == {"p50": 500.0, "p90": 900.0, "p99": 990.0, "p99.9": 999.0, "max": 999.0}


def test_without_a_sample_there_are_no_figures() -> None:
    assert Samples().percentiles_ms() == {}
    assert Samples().curve_ms() == []


def test_too_many_samples_are_thinned_and_the_worst_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(latency, "SAMPLES_MAX", 64)
    figures = samples_of(9.0, *(index / 10_000 for index in range(10_000))).percentiles_ms()
    assert figures["max"] == 9000.0
    assert figures["p50"] == pytest.approx(500, abs=30)


def test_a_message_that_left_late_is_timed_from_its_planned_time() -> None:
    send_times = SendTimes(step=1, in_transit_max=4)
    send_times.schedule = Schedule(start_seconds=10.0, interval_seconds=0.5)
    samples = Samples()
    send_times.record_sent(0, 100, 60.0)
    send_times.record_arrival(98, 2, 61.0, samples)
    assert samples.curve_ms()[0] == (0.0, 1500.0)
    assert samples.percentiles_ms()["max"] == 2000.0


def test_a_plan_states_how_many_are_due() -> None:
    schedule = Schedule(start_seconds=10.0, interval_seconds=0.5)
    assert [schedule.due_count(seconds) for seconds in (10.0, 10.4, 10.5, 12.0)] == [1, 1, 2, 5]
    assert schedule.due_count(9.0) <= 0


@pytest.mark.parametrize("step", [1, 3, 64])
def test_one_message_in_every_few_is_timed_from_when_it_left(step: int) -> None:
    send_times = SendTimes(step=step, in_transit_max=1000)
    samples = Samples()
    left: dict[int, float] = {}
    sequence = 0
    for burst in range(200):
        send_times.record_sent(sequence, burst, float(burst))
        left |= dict.fromkeys(range(sequence, sequence + burst), float(burst))
        sequence += burst
        if sequence >= 500:
            send_times.record_arrival(sequence - 500, burst, 1000.0, samples)
    timed = [value for key, value in left.items() if key % step == 0]
    assert samples.percentiles_ms()["max"] <= 1000.0 * (1000.0 - min(timed))
    assert math.isfinite(samples.percentiles_ms()["p99"])


def test_samples_before_the_measurement_can_be_forgotten() -> None:
    samples = samples_of(5.0)
    samples.clear()
    empty: dict[str, Any] = {}
    assert samples.percentiles_ms() == empty
