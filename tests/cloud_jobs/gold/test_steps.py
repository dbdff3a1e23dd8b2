"""The steps of a run: what it shows of them, and that one which fails stops no other chain."""

import pytest

from cloud_jobs.gold.run import update_gold
from cloud_jobs.gold.steps import PHASES
from tests.cloud_jobs.conftest import Place
from tests.cloud_jobs.landings import land
from tests.contract.segments import SEED, LogWriter, opened, readings


def test_each_step_is_shown_once_and_a_failure_stops_no_other_chain(
    place: Place,
) -> None:
    log = LogWriter("gw-steps", seed=SEED)
    land(place.landing, log.seal([opened(1, "board"), *readings(2)]))
    place.run()
    lines: list[str] = []
    done: list[str] = []

    def fail_after(step: str) -> None:
        done.append(step)
        if step == "qos2_daily":
            raise OSError(step)

    with pytest.raises(OSError, match="qos2_daily"):
        update_gold(place.spark, place.settings.tables, lines.append, after_step=fail_after)
    assert texts_of(lines) == sorted(PHASES.values())
    assert lines[0] == f"step 1 of {len(PHASES)}: {PHASES['audit']}"
    assert {"qos2_daily", "gateway_health", "gaps", "audit_daily"} < {*done}
    assert place.rows("gold_runs", "is_done") == []

    # The failed run is finished without an audit. Nothing is left for another run.
    lines.clear()
    update_gold(place.spark, place.settings.tables, lines.append, is_audited=False)
    assert texts_of(lines) == sorted(text for name, text in PHASES.items() if name != "audit")


def texts_of(lines: list[str]) -> list[str]:
    """Return the texts of the shown steps, sorted. Their numbers are those from 1 to their count.

    Steps that begin in two threads at the same time may be shown in any order.
    """
    numbers = [line.partition(":")[0] for line in lines]
    assert sorted(numbers) == sorted(f"step {n} of {len(lines)}" for n in range(1, len(lines) + 1))
    return sorted(line.partition(": ")[2] for line in lines)
