"""The document that `make bench` builds from its runs, which are themselves too long for a test."""

from pathlib import Path
from typing import Any

import pytest

from tests.instruments.benchmarks.brokers import BROKERS, BenchmarkFailed, oncegate
from tests.instruments.benchmarks.contests import (
    BURSTS,
    CONTESTS,
    RULED,
    TLS_CONTESTS,
    Contest,
)
from tests.instruments.benchmarks.measuring import Meter, rate_of
from tests.instruments.benchmarks.report import document_of
from tests.instruments.benchmarks.secured import access_in, certificates_in


def run_of(*, persistent: bool = False) -> dict[str, Any]:
    return {
        "scenario": {"payload_bytes": 64, "persistent": persistent},
        "broker": {
            "cpu_seconds_per_million": 2.5,
            "rss_bytes_max": 50 << 20,
            "written_bytes_per_message": 400.0,
        },
        "generator": {"cpu_seconds_per_million": 0.5},
        "commits": {"messages_each": 250.0, "busy_share": 0.9},
        "limit": "broker",
    }


def results_of(*, ratio: float = 6.0, load_average: float = 0.1) -> dict[str, Any]:
    run = run_of()
    return {
        "machine": {
            "processor": "Cortex-A76",
            "cores": 4,
            "memory_bytes": 8 << 30,
            "system": "Debian",
            "kernel": "6.1",
            "file_system": "ext4",
            "python": "3.11",
            "mosquitto": "2.0.11",
            "oncegate": "0.1.0, compiled",
            "load_average": load_average,
        },
        "rounds": 3,
        "seconds": 5.0,
        "pinned": True,
        "contests": [
            {
                "name": "QoS 2",
                "least": 5,
                "ratio": ratio,
                "cpu_ratio": 7.0,
                "rates": {"Mosquitto": 10_000.0, "Oncegate": 10_000.0 * ratio},
                "runs": {"Mosquitto": [run], "Oncegate": [run_of(persistent=True)]},
            }
        ],
        "ruled": [
            {"name": "QoS 1", "least": 0.9, "ratio": 0.95,
             "rates": {"without": 1_000.0, "with": 950.0}}
        ],
        "recorded": [
            {"name": "QoS 0", "least": 0.98, "ratio": 1.01, "cpu_ratio": 0.991,
             "rates": {"without": 2_000.0, "with": 2_020.0}}
        ],
        "bursts": [
            {"name": "QoS 1", "least": 1, "ratio": 1.0, "brokers": {"Oncegate": {
                "acknowledged": 200_000, "delivered": 200_000, "seconds": 3.5,
                "memory_bytes": 131 << 20,
            }}}
        ],
        "durable": {"ratio": 1.2, "most": 1.5, "latency_ms": 2.4, "fsync_ms": 1.0, "runs": [run]},
        "shared": {
            "ratio": 1.5, "most": 2.0, "alone_ms": 0.2, "beside_ms": 0.3,
            "load_per_second": 90_000.0, "loads": [run],
        },
        "wear": [{"rate": 10, "written_bytes": 30_000.0, "run": run}],
    }  # fmt: skip


def test_the_document_has_machine_ratios_wear_and_costs() -> None:
    text = document_of(results_of())
    for words in (
        "| processor | Cortex-A76, 4 cores |",
        "| QoS 2 | 10,000 | 60,000 | 6.0 | at least 5 | 7.0 | yes |",
        "90,000 durable messages/s, 250 for each commit; a commit was under way 90% of the time",
        "| QoS 2 | Oncegate | 2.50 | 50 MiB | 250 | 400 | 0.50 | the broker's core |",
        "| 10 | 0.0 | 30,000 |",
        "| QoS 1 | 1,000 | 950 | 0.95 | at least 0.9 | yes |",
        "| QoS 0 | 2,000 | 2,020 | 1.01 | 0.991 | at least 0.98 | yes |",
        "| QoS 1 | Oncegate | 200,000 | 200,000 | 3.5 | 131 MiB |",
        "## How it is measured",
    ):
        assert words in text
    assert "noise" not in text


def test_a_ratio_that_was_not_reached_and_a_busy_machine_are_said() -> None:
    text = document_of(results_of(ratio=4.9, load_average=3.0))
    assert "| 4.9 | at least 5 | 7.0 | **no** |" in text
    assert "load average 3.0" in text


def test_every_load_can_be_run(tmp_path: Path) -> None:
    # Mosquitto reads its configuration as another user.
    tmp_path.chmod(0o755)
    meter = Meter(pinned=False)
    tls = certificates_in(tmp_path)
    for contest in (*CONTESTS[-3:], TLS_CONTESTS[0]):
        options = [*contest.options, "--warm-up", "0"]
        if "--count" in options:
            options[options.index("--count") + 1] = "200"
        for name, broker in BROKERS.items():
            with broker(tmp_path, contest.queue_messages, tls if contest.tls else None) as running:
                result = meter.measure(running, tuple(options), 0.3)
            # On a busy machine no message may arrive within the measured time.
            assert max(rate_of(result), result["total"]["received"]) > 0
            # At QoS 0 there is a commit only if the run lasts until the sessions' state is written.
            assert contest.tls or ("commits" in result) == (name == "Oncegate")


@pytest.mark.parametrize("contest", BURSTS, ids=lambda contest: contest.name)
def test_a_burst_is_delivered_as_a_whole(tmp_path: Path, contest: Contest) -> None:
    options = [*contest.options, "--warm-up", "0"]
    options[options.index("--count") + 1] = "500"
    with oncegate(tmp_path, 200) as running:
        total = Meter(pinned=False).measure(running, tuple(options), 0.3, loses=True)["total"]
    assert total["completed"] == total["received"] == 5_000


def test_the_load_of_a_user_among_a_thousand_is_let_in(tmp_path: Path) -> None:
    access = access_in(tmp_path)
    with oncegate(tmp_path, settings=access.settings) as running:
        options = (*RULED[1].options, *access.options, "--warm-up", "0")
        result = Meter(pinned=False).measure(running, options, 0.3)
    assert result["total"]["received"] > 0


def test_a_load_that_cannot_be_run_states_what_the_load_generator_said(tmp_path: Path) -> None:
    with BROKERS["Oncegate"](tmp_path) as running, pytest.raises(BenchmarkFailed, match="QoS 7"):
        Meter(pinned=False).measure(running, ("--qos", "7"), 0.3)
