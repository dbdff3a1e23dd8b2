"""The parts of `make hostile` that need no broker: bytes of attackers, statistics, rows, report."""

from typing import Any

import pytest

from gateway.broker.core.limits import Limits
from gateway.configuration import load
from tests.instruments.benchmarks.hostile import connection_attacks, memory, topic_attacks
from tests.instruments.benchmarks.hostile.attackers import ATTACKS, CONTROL
from tests.instruments.benchmarks.hostile.figures import (
    Conservation,
    failures_of,
    growth_of,
    percentile_of,
    percentiles_of,
    ratios_of,
    worst_of,
)
from tests.instruments.benchmarks.hostile.honest_clients import Ledger
from tests.instruments.benchmarks.hostile.report import (
    MARKERS,
    cells_of,
    part_of,
    with_part,
)
from tests.instruments.benchmarks.hostile.rows import (
    Row,
    failures_of_row,
    floor_of,
    merged_of,
    noise_of,
)

CALM = {"QoS 1 received": {"p50": 1.0, "p99": 4.0}, "QoS 2 received": {"p50": 2.0, "p99": 8.0}}
RIGHT = {"sent": 100, "lost": 0, "doubled": 0, "connections_lost": 0}


def row_of(times: float = 1.5, **changes: Any) -> Row:
    during = {
        name: {each: times * value for each, value in figures.items()}
        for name, figures in CALM.items()
    }
    return {
        "attack": "TakeoverStorm",
        "done": {"connections": 600, "sent_bytes": 2_000_000, "problem": None},
        "calm_ms": CALM,
        "during_ms": during,
        "after_ms": CALM,
        "ratios": ratios_of(CALM, during),
        "memory_before_bytes": 50 << 20,
        "memory_most_bytes": 60 << 20,
        "memory_after_bytes": 55 << 20,
        "memory_allowed_bytes": 100 << 20,
        "conservation": dict(RIGHT),
        "counted": {"malformed_packet": 7},
        "rounds": 1,
    } | changes


# -- attacks and their limits


def test_attacks_have_names_of_their_own_and_say_what_they_do() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
    assert ATTACKS[0] is CONTROL
    for attack in ATTACKS:
        assert attack.sentence.endswith("."), attack


def test_attacks_and_allowances_are_those_of_the_configured_limits() -> None:
    limits, configuration = Limits(), load(None, {}, {}, None)
    assert configuration.limits.max_uncommitted == memory.MAX_UNCOMMITTED_BYTES
    assert limits.max_packet_size_bytes - 100 < connection_attacks.PACKET_BYTES
    assert limits.max_packet_size_bytes > connection_attacks.PACKET_BYTES
    assert limits.max_topic_levels == topic_attacks.LEVELS
    assert limits.max_topic_alias == topic_attacks.ALIASES
    assert limits.max_connections * memory.CONNECTION_BYTES <= 110 * 10**6


def test_an_allowance_names_what_it_is_made_of() -> None:
    allowance = memory.Allowance(connections=100, slow_readers=1, bounds=("wills",))
    parts = memory.extra_parts(allowance)
    assert parts == {
        "connections": 100 * memory.CONNECTION_BYTES,
        "slow readers": 5 << 20,
        "wills": 64 << 20,
    }
    beside_any = memory.allowed_bytes(memory.Allowance())
    assert memory.allowed_bytes(allowance) == beside_any + sum(parts.values())
    for attack in ATTACKS:
        assert set(attack.allowance.bounds) <= set(memory.BOUNDS), attack


# -- statistics


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = [float(value) for value in range(200, 0, -1)]
    assert (percentile_of(values, 50), percentile_of(values, 99)) == (100.0, 198.0)
    assert percentile_of([3.0], 99) == 3.0
    with pytest.raises(ValueError, match="no values"):
        percentile_of([], 50)


def test_latencies_become_milliseconds_and_ratios_name_the_worst_series() -> None:
    during = percentiles_of({"QoS 1 received": [0.001], "QoS 2 received": [0.012]})
    assert during["QoS 2 received"] == {"p50": 12.0, "p99": 12.0}
    ratios = ratios_of(CALM, during)
    assert worst_of(ratios, "p50") == ("QoS 2 received", 6.0)
    assert worst_of(ratios, "p99") == ("QoS 2 received", 1.5)


def test_counters_that_grew_are_reported_and_others_are_not() -> None:
    assert growth_of({"a": 1, "b": 2}, {"a": 4, "b": 2, "c": 1}) == {"a": 3, "c": 1}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"memory_bytes": 200 << 20}, "200 MiB of memory, 100 allowed"),
        ({"conservation": Conservation(100, lost=1)}, "messages lost: 1"),
        ({"conservation": Conservation(100, doubled=2)}, "messages duplicated: 2"),
        ({"conservation": Conservation(100, connections_lost=1)}, "client was disconnected"),
        ({"ratios": ratios_of({"s": {"p50": 1.0, "p99": 1.0}}, {"s": {"p50": 2.5, "p99": 1.0}})},
         "p50 of s: 2.5 times calm"),
        ({"ratios": None}, "a series has no messages"),
    ],
)  # fmt: skip
def test_a_row_fails_for_each_thing_that_is_required(changes: dict[str, Any], words: str) -> None:
    right: dict[str, Any] = {
        "ratios": ratios_of(CALM, CALM),
        "memory_bytes": 50 << 20,
        "memory_bytes_most": 100 << 20,
        "conservation": Conservation(100),
    }
    assert failures_of(right.pop("ratios"), **right) == []
    right["ratios"] = ratios_of(CALM, CALM)
    changed = right | changes
    (failure,) = failures_of(changed.pop("ratios"), **changed)
    assert words in failure


def test_a_ledger_reports_what_is_missing_and_what_came_twice() -> None:
    ledger = Ledger()
    for qos in (1, 2):
        for number in range(3):
            ledger.due[qos, number] = 0.0
    for qos, number in ((1, 0), (1, 1), (1, 1), (2, 0), (2, 0), (2, 2)):
        ledger.take_message(bytes([qos]) + number.to_bytes(8, "big"))
    assert ledger.conservation() == Conservation(6, lost=2, doubled=2)
    ledger.connections_lost = 1
    # At QoS 1 a message may be repeated after a lost connection.
    assert ledger.conservation() == Conservation(6, lost=2, doubled=1, connections_lost=1)


# -- rows and documents


def test_rounds_are_merged_by_their_medians_and_by_the_most_memory() -> None:
    rounds = [row_of(3.0), row_of(1.5, memory_most_bytes=70 << 20), row_of(1.8)]
    merged = merged_of(rounds, CALM)
    assert worst_of(merged["ratios"], "p99")[1] == pytest.approx(1.8)
    assert merged["memory_most_bytes"] == 70 << 20
    assert merged["conservation"]["sent"] == 300
    assert merged["rounds"] == 3
    assert failures_of_row(rounds[0]) != []
    assert failures_of_row(merged) == []


def test_a_lucky_calm_stretch_is_no_yardstick() -> None:
    lucky = {name: {"p50": 0.1, "p99": 0.1} for name in CALM}
    rows = [row_of(), row_of(1.9, calm_ms=lucky), row_of()]
    floor = floor_of(rows)
    assert floor == CALM
    assert worst_of(merged_of([rows[1]], floor)["ratios"], "p99")[1] == pytest.approx(1.9)
    unlucky = {name: {"p50": 9.0, "p99": 9.0} for name in CALM}
    merged = merged_of([row_of(calm_ms=unlucky)], floor)
    assert merged["ratios"]["QoS 1 received"]["p99"] == pytest.approx(1.5 * 4.0 / 9.0)


def test_a_round_in_which_the_broker_ended_is_never_outvoted() -> None:
    ended = {key: value for key, value in row_of().items() if key != "during_ms"}
    merged = merged_of([row_of(), ended | {"ended": "exit code 1"}, row_of()], CALM)
    assert failures_of_row(merged) == ["the broker exited"]


def test_an_attack_that_broke_off_proves_nothing() -> None:
    done = {"connections": 1, "sent_bytes": 1, "problem": "ConnectionRefusedError: no"}
    assert failures_of_row(row_of(done=done)) == [
        "the attack stopped early: ConnectionRefusedError: no"
    ]


def test_two_calm_stretches_that_differ_too_much_are_called_noise() -> None:
    assert noise_of(row_of(1.9)) is None
    assert "the machine was too busy" in (noise_of(row_of(2.1)) or "")


def results_of(*rows: Row) -> dict[str, Any]:
    return {
        "machine": {
            "processor": "Cortex-A76",
            "cores": 4,
            "system": "Debian",
            "file_system": "ext4",
            "python": "3.11",
            "load_average": 0.1,
        },
        "build": "Oncegate 0.1.0, compiled",
        "plan": {"calm": 6.0, "attack": 3.0, "after": 10.0, "rate": 50.0, "rounds": 3}
        | {"settle": 1.0},
        "rows": list(rows),
    }


def test_the_document_has_every_row_with_its_figures_and_its_verdict() -> None:
    ended = {key: value for key, value in row_of().items() if "ms" not in key and key != "ratios"}
    text = part_of(results_of(row_of(), row_of(2.5), ended | {"ended": "exit code 1"}))
    row = (
        "| session takeovers | 2.0 / 8.0 | 3.0 / 12.0 | 1.5 / 1.5 | 2.0 / 8.0 | 50 / 60 / 55 | 100 "
    )
    assert row + "| 0, 0, 0 | malformed_packet: 7 | yes |" in text
    assert "| **no**: p50 of QoS 1 received: 2.5 times calm; p99 of" in text
    assert "| **no**: the broker exited |" in text
    assert "Cortex-A76, 4 cores, Debian, data on ext4" in text
    assert "| session takeovers | 200 connections per second" in text
    assert cells_of(row_of())[-1] == "yes"


def test_the_part_of_the_document_is_replaced_and_the_rest_stays() -> None:
    page = "# Limits\n\nBy hand.\n\n" + MARKERS.heading + "\n\nAlso by hand.\n"
    once = with_part(page, "first\n") + "\n## Behind it\n"
    assert once.count(MARKERS.heading) == 1
    twice = with_part(once, "second\n")
    assert "first" not in twice
    for words in ("By hand.", "Also by hand.", "## Behind it", "second"):
        assert words in twice
    heading, begin, end = MARKERS
    assert with_part("# Limits\n", "new\n").endswith(f"{heading}\n\n{begin}\n\nnew\n\n{end}\n")
    with pytest.raises(ValueError, match="without <!--"):
        with_part(f"# Limits\n{begin}\n", "new\n")
