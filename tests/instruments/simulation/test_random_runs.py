"""All rules hold, whatever clients, network, disk and power do."""

from collections import Counter

import pytest

from gateway.broker.server.host.compiled import COMPILED
from tests.instruments.simulation.campaigns import how_to_repeat
from tests.instruments.simulation.random_plans import plan_of
from tests.instruments.simulation.report import report_of
from tests.instruments.simulation.runs import Outcome, run
from tests.instruments.simulation.shrinking import shrink

SEEDS_PER_TEST = 50

SEEDS = 250 if COMPILED else 100
"""The number of seeds in `make test`. `make simulate SEEDS=100000` runs more."""

REACHED = (
    "broken connections",
    "clean stops",
    "clocks that are synchronised",
    "clocks that begin in 1970",
    "clients that stop reading",
    "delivery_resent: publish",
    "delivery_resent: pubrel",
    "duplicate_suppressed",
    "failing commits, kept",
    "failing commits, lost",
    "full disks",
    "handed over to another member of a group",
    "half-open connections",
    "kills",
    "PUBLISH refused by a full queue",
    "message_dropped: displaced",
    "message_dropped: expired",
    "message_dropped: queue_full",
    "power cuts",
    "power cuts amid a checkpoint",
    "power cuts, and then a clock: 1970",
    "power cuts, and then a clock: a minute back",
    "power cuts, and then a clock: stopped",
    "power cuts, and then a clock: years ahead",
    "power cuts before COMMIT",
    "power cuts with QoS 2 in flight, PUBLISH last",
    "power cuts with QoS 2 in flight, PUBREC last",
    "power cuts with QoS 2 received and not released",
    "retained messages that expired",
    "session_ended: expired",
    "times switched off that became known later",
    "stalled disks",
    "steps of the clock",
    "takeovers amid QoS 2 from the client",
    "takeovers amid QoS 2 to the client",
    "takeovers with a clean start",
    "topic aliases instead of a topic, to a client at QoS 0",
    "topic aliases instead of a topic, to a client at QoS 1",
    "topic aliases instead of a topic, to a client at QoS 2",
    "topic aliases instead of a topic, to the broker",
    "will_cleared: published",
    "will_cleared: replaced",
)
"""Events that must have occurred in a few hundred runs. Otherwise the runs prove too little."""


def fail(outcome: Outcome) -> None:
    """Fail with the smallest story."""
    again = how_to_repeat(outcome.plan)
    smallest = shrink(outcome)
    pytest.fail(report_of(run(smallest.plan, logs=True), again), pytrace=False)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("first", range(0, SEEDS, SEEDS_PER_TEST))
def test_random_lives_keep_every_promise(first: int) -> None:
    for seed in range(first, first + SEEDS_PER_TEST):
        outcome = run(plan_of(seed))
        if outcome.violation is not None:
            fail(outcome)


@pytest.mark.timeout(300)
def test_random_lives_meet_everything_that_they_are_to_meet() -> None:
    counts: Counter[str] = Counter()
    missing: list[str] = []
    for seed in range(100_000, 100_600):
        counts.update(run(plan_of(seed)).counts)
        missing = [what for what in REACHED if not counts[what]]
        if not missing:
            return
    pytest.fail(f"never happened: {missing}")
