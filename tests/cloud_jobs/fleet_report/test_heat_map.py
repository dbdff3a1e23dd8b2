"""The heat map of gateways by days."""

import datetime
from typing import Any

from cloud_jobs.fleet_report.heat_map import MEASURES, heat_maps

DAYS = [datetime.date(2026, 1, n) for n in range(1, 31)]
NONE: dict[str, Any] = dict.fromkeys(
    ("verdict", "messages", "delivery_p99_ms", "sessions_lost", "offline_seconds",
     "lag_max_seconds", "missing")
)  # fmt: skip


def cells(gateways: list[str]) -> list[dict[str, Any]]:
    return [NONE | {"gateway": g, "day": d, "verdict": "ok"} for g in gateways for d in DAYS]


def test_a_thousand_gateways_stay_small_and_each_measure_is_there() -> None:
    names = [f"gw-{n}" for n in range(1_000)]
    drawn = heat_maps(names, DAYS, cells(names), names)
    assert len(drawn) < 500_000
    assert all(f"map-{measure.key}" in drawn for measure in MEASURES)


def test_a_name_cannot_end_the_script_that_holds_it() -> None:
    hostile = ["</script><b>"]
    drawn = heat_maps(hostile, DAYS, cells(hostile), hostile)
    assert drawn.count("</script>") == 1
    assert "<b>" not in drawn
