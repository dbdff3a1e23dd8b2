"""The steps of a run: what it shows of them, and that one which fails stops no other."""

import pytest

from cloud_jobs.gold.run import update_gold
from cloud_jobs.gold.steps import PHASES
from tests.cloud_jobs.conftest import Place
from tests.cloud_jobs.landings import land
from tests.contract.segments import SEED, LogWriter, opened, readings


def test_each_step_is_shown_once_and_in_its_order_and_a_failure_stops_no_other(
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
    shown = [f"step {number} of {len(PHASES)}: {text}"
             for number, text in enumerate(PHASES.values(), 1)]  # fmt: skip
    in_turn = [*PHASES].index("boots")  # the steps after it begin in several threads
    assert lines[: in_turn + 1] == shown[: in_turn + 1]
    assert sorted(lines) == shown
    assert {"qos2_daily", "gateway_health", "gaps", "audit_daily"} < {*done}
    assert place.rows("gold_runs", "is_done") == []


def test_a_run_without_an_audit_numbers_only_its_own_steps(place: Place) -> None:
    log = LogWriter("gw-unaudited", seed=SEED)
    land(place.landing, log.seal([opened(1, "board"), *readings(2)]))
    place.run()
    lines: list[str] = []
    update_gold(place.spark, place.settings.tables, lines.append, is_audited=False)
    others = [text for name, text in PHASES.items() if name != "audit"]
    assert sorted(lines) == [
        f"step {number} of {len(others)}: {text}" for number, text in enumerate(others, 1)
    ]
