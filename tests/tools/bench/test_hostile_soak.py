"""A short soak: every kind of attack once, all at the same time, next to honest clients.

Latencies do not count here, because the machine does other work. Everything else does.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from api.status.control_socket import problem_of
from tests.instruments.benchmarks.hostile import (
    access_attacks,
    connection_attacks,
    page_attacks,
    tls_attacks,
)
from tests.instruments.benchmarks.hostile.figures import Conservation
from tests.instruments.benchmarks.hostile.queue_attacks import PacketFlood
from tests.instruments.benchmarks.hostile.siege import ROOT
from tests.instruments.benchmarks.hostile.soak.clients import SoakLedger
from tests.instruments.benchmarks.hostile.soak.run import KINDS, Plan, soak
from tests.instruments.benchmarks.hostile.soak.verdict import Soak, failures_of

SURE = (
    connection_attacks.MalformedStorm,
    connection_attacks.ProxyHeaders,
    tls_attacks.NoTls,
    tls_attacks.WrongRecords,
    tls_attacks.CertificateRubbish,
    access_attacks.WrongTokens,
    page_attacks.WrongPageTokens,
)
"""Attacks that are answered at their first packets, before a login.

Other attacks have to log in, or reach a limit on a rate or a time, which a loaded machine may not
manage within seconds.
"""

SHORT = Plan(window=6.0, settle=1.0, rounds=1, rate=20.0, share=0.03, gives_way=False)
"""A short plan with the default `connect_timeout`, which includes the check of a password.

That may take seconds on a loaded machine.
"""


def whole_soak() -> Soak:
    """Return a soak with one attack in which every check passes."""
    calm = {"QoS 1 received": {"p50": 1.0, "p99": 4.0}}
    return Soak(
        calm=[calm] * 3,
        attacked=[{"QoS 1 received": {"p50": 1.9, "p99": 7.9}}] * 2,
        calm_resident_bytes=[50 << 20, 90 << 20, 91 << 20],
        most_bytes=100 << 20,
        allowed_bytes=200 << 20,
        done=[{"PacketFlood": {"connections": 2, "problem": None}}],
        counted={"max_packet_rate": 3},
        conservations=[Conservation(100), Conservation(60)],
        logins_answered=10,
        visits_answered=20,
        log_lines=100,
        seconds=100.0,
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        (
            {"attacked": [{"QoS 1 received": {"p50": 2.1, "p99": 7.9}}]},
            "p50 of QoS 1 received: 2.1",
        ),
        ({"calm_resident_bytes": [50 << 20, 90 << 20, 190 << 20]}, "memory grew by 100 MiB"),
        ({"most_bytes": 300 << 20}, "300 MiB of memory, 200 allowed"),
        ({"done": [{"PacketFlood": {"connections": 0, "problem": None}}]}, "opened no connection"),
        ({"done": [{"PacketFlood": {"connections": 1, "problem": "OSError"}}]}, "stopped early"),
        ({"counted": {}}, "not stopped by max_packet_rate"),
        ({"conservations": [Conservation(9, lost=1), Conservation(9)]}, "subscriber: 1 lost"),
        ({"conservations": [Conservation(9), Conservation(9, doubled=2)]}, "returning subscriber"),
        ({"logins_wrong": {"CONNACK 3": 1}}, "failed logins (CONNACK 3): 1"),
        ({"visits_wrong": {"HTTP 503": 1}}, "failed requests (HTTP 503): 1"),
        ({"visits_answered": 0}, "no login or no page request"),
        ({"log_lines": 2_600}, "2,600 log lines"),
        ({"ended": "the broker exited with -9"}, "the broker exited"),
    ],
)
def test_a_soak_fails_for_each_thing_that_is_required(
    changes: dict[str, object], words: str | None
) -> None:
    found = failures_of(replace(whole_soak(), **changes), [PacketFlood], latency=True)  # type: ignore[arg-type]
    if words is None:
        assert found == []
    else:
        (failure,) = found
        assert words in failure


def test_a_late_answer_is_no_failure_where_latencies_do_not_count() -> None:
    problem = problem_of(TimeoutError(), Path("control.sock"), 5.0)
    full = "HTTP 503: Too many requests are being answered."
    wrong = {f"HTTP {problem.status_code}: {problem.reason}": 1, full: 2}
    late = replace(whole_soak(), visits_wrong=wrong)
    assert failures_of(late, [PacketFlood], latency=False) == [f"failed requests ({full}): 2"]
    assert len(failures_of(late, [PacketFlood], latency=True)) == 2


def test_a_subscriber_that_goes_away_is_owed_what_is_stored_and_nothing_twice_at_qos_2() -> None:
    steady = SoakLedger()
    away = SoakLedger(steady.due)
    away.departures = 1
    for qos in (0, 1, 2):
        steady.due[qos, 0] = 0.0
    for ledger in (steady, away):
        for qos in (1, 1, 2):
            ledger.take_message(bytes([qos]) + bytes(8))
    assert steady.conservation() == Conservation(3, lost=1, doubled=1)
    assert away.conservation() == Conservation(2)
    assert len(steady.between(-1.0, 1.0)["QoS 1 received"]) == 1
    assert steady.between(1.0, 2.0)["QoS 1 received"] == []


@pytest.mark.slow
async def test_beside_all_attacks_together_nothing_honest_is_lost_and_each_limit_answers(
    tmp_path: Path,
) -> None:
    found = await soak(ROOT, tmp_path, SHORT, lambda _: None)
    failures = failures_of(found, KINDS, latency=False)
    failures = [each for each in failures if "not stopped by" not in each]
    assert not failures, "; ".join(failures)
    assert [kind.name for kind in SURE if not found.answered_by(kind)] == []
