"""Plots of the fleet's days."""

from __future__ import annotations

import dataclasses

from cloud_jobs.fleet_report.fleet_charts import fleet_charts
from tests.cloud_jobs.fleet_report.conftest import Fleet


def test_plots_with_a_value_are_drawn_and_others_are_left_out(fleet: Fleet) -> None:
    drawn = fleet_charts(fleet.figures)
    assert "<figcaption>Messages received at QoS 2</figcaption>" in drawn
    assert "Offline" not in drawn
    assert fleet_charts(dataclasses.replace(fleet.figures, fleet={})) == ""
