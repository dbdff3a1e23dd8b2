"""The measurements of a load generator run as a table for a terminal."""

import dataclasses
import io
from typing import Any

import pytest
from rich.console import Console

from gateway.cli.tools.bench_table import table_of, title_of
from gateway.tools.bench.processes import Usage
from gateway.tools.bench.result import Faults, Reading, Result
from gateway.tools.bench.scenario import Scenario

NO_FAULTS = Faults(lost=0, duplicates=0, late=0, foreign=0, refused=0, unfinished=0)
START = Reading(seconds=0.0, sent=0, completed=0, received=0, cpu_seconds=0.0, broker=None)


def result_of(scenario: Scenario, **changes: Any) -> Result:
    stop = Reading(
        seconds=2.0, sent=2000, completed=2000, received=2000, cpu_seconds=1.0, broker=None
    )
    whole: dict[str, Any] = {
        "scenario": scenario,
        "start": START,
        "stop": stop,
        "end": stop,
        "faults": NO_FAULTS,
        "stalls": 0,
        "window_used": scenario.window,
        "delivery_ms": {},
        "acknowledgement_ms": {},
        "delivery_curve_ms": [],
        "acknowledgement_curve_ms": [],
        "timeline": [],
    }
    return Result(**(whole | changes))


def drawn(result: Result, fsync_ms: dict[str, float] | None = None) -> str:
    screen = io.StringIO()
    Console(file=screen, width=120).print(table_of(result, fsync_ms or {}))
    return screen.getvalue()


@pytest.mark.parametrize(
    ("scenario", "title"),
    [
        (Scenario(), "MQTT 3.1.1, QoS 0, 1 to 1, 64 bytes"),
        (
            Scenario(version=5, qos=2, publishers=3, subscribers=3, shape="pairs", persistent=True),
            "MQTT 5.0, QoS 2, 3 to 3 in pairs, 64 bytes, window 20, persistent",
        ),
        (
            Scenario(qos=1, window=7, rate=5000.0, spin=True),
            "MQTT 3.1.1, QoS 1, 1 to 1, 64 bytes, window 7, clean, never asleep, 5,000 messages/s",
        ),
        (
            Scenario(qos=1, persistent=True, away=True),
            "MQTT 3.1.1, QoS 1, 1 to 1, 64 bytes, window 20, persistent, subscribers away",
        ),
        (
            Scenario(qos=1, persistent=True, away=True, count=9),
            "MQTT 3.1.1, QoS 1, 1 to 1, 64 bytes, window 20, persistent, subscribers come back",
        ),
    ],
)
def test_the_title_is_the_scenario_in_a_line(scenario: Scenario, title: str) -> None:
    assert title_of(scenario) == title


def test_a_clean_run_shows_rates_and_latencies_and_that_each_came_once() -> None:
    result = result_of(Scenario(qos=1), delivery_ms={"p50": 1.25, "max": 1234.5})
    shown = drawn(result, {"p50": 0.5})
    assert "1,000 messages/s" in shown
    assert "p50 1.250, max 1,234.500 ms" in shown
    assert "p50 0.500 ms" in shown
    assert "each once, in order" in shown
    assert "50% of a core" in shown
    assert "neither is busy" in shown


@pytest.mark.parametrize(("count", "rates"), [(None, ["sent", "completed"]), (100, ["received"])])
def test_only_rates_that_the_scenario_measures_are_shown(
    count: int | None, rates: list[str]
) -> None:
    shown = drawn(result_of(Scenario(qos=1, persistent=True, away=True, count=count)))
    words = [line.split()[0] for line in shown.splitlines() if line.split()]
    assert [word for word in words if word in ("sent", "received", "completed")] == rates


def test_every_fault_is_counted_in_words_in_place_of_the_verdict() -> None:
    faults = Faults(lost=1200, duplicates=1, late=2, foreign=3, refused=4, unfinished=5)
    shown = drawn(result_of(Scenario(), faults=faults))
    assert "each once" not in shown
    assert "1,200 lost, 1 twice, 2 late, 3 changed or foreign, 4 refused" in shown
    assert "5 never acknowledged" in shown


def test_a_broker_that_was_watched_shows_its_cost_its_memory_and_what_it_wrote() -> None:
    before = Usage(cpu_seconds=1.0, rss_bytes=1 << 20, rss_bytes_max=1 << 20, written_bytes=0)
    after = Usage(cpu_seconds=2.9, rss_bytes=3 << 20, rss_bytes_max=3 << 20, written_bytes=200_000)
    plain = result_of(Scenario())
    watched = dataclasses.replace(
        plain,
        start=dataclasses.replace(plain.start, broker=before),
        stop=dataclasses.replace(plain.stop, broker=after),
        end=dataclasses.replace(plain.end, broker=after),
    )
    shown = drawn(watched)
    assert "95% of a core" in shown
    assert "3.0 MiB, 100 bytes written per message" in shown
    assert "the broker, which is busy" in shown


def test_a_window_that_the_broker_narrowed_is_named() -> None:
    assert "accepts no more" not in drawn(result_of(Scenario(qos=1)))
    assert "5: the broker accepts no more" in drawn(result_of(Scenario(qos=1), window_used=5))
