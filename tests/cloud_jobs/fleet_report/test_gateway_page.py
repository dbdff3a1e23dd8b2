"""The page of a gateway: sensors, curves and faults, and names that are escaped."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

from cloud_jobs.fleet_report.document import anchor_of
from cloud_jobs.fleet_report.folder import write_report
from cloud_jobs.fleet_report.names import NO_NAMES
from tests.cloud_jobs.fleet_report.conftest import Fleet
from tests.cloud_jobs.fleet_report.simulated_fleet import NOW, PLANTED, write_tables
from tests.cloud_jobs.fleet_report.test_sensors import row


def page_of(root: Path, rows: dict[str, list[dict[str, Any]]], **options: Any) -> str:
    """Write the report of a fleet with one gateway. Return the text of the gateway's page."""
    write_tables(root, rows, **options)
    folder = root / "report"
    write_report(str(root), folder, days=30, names=NO_NAMES, now=NOW, progress=lambda *_: None)
    (page,) = (folder / "gateways").iterdir()
    return page.read_text()


def test_a_silent_sensor_is_marked_in_headline_list_and_table(fleet: Fleet) -> None:
    page = fleet.page_of(PLANTED.silent_sensor)
    anchor = anchor_of("board-00000003")
    assert f'<li class="attention"><a href="#{anchor}">board-00000003</a>: no reading of' in page
    assert f'<a class="badge attention" href="#{anchor}">board-00000003</a>' in page
    assert f'<section class="sensor" id="{anchor}">' in page
    assert page.count('<span class="badge attention">silent</span>') == 1
    assert "<b class=doubt>2026-01-30 06:50</b>" in page
    assert "A sensor is silent when" in page


def test_last_values_have_units_and_texts_have_no_curve(fleet: Fleet) -> None:
    page = fleet.page_of("gw-0001")
    assert re.search(r"<b>[\d.,]+</b> <small>°C</small>", page)
    assert "<b>closed</b>" in page
    assert page.count('class="card curve"') == 7


def test_names_and_sites_of_the_file_are_shown_with_the_ids(fleet: Fleet) -> None:
    page = fleet.page_of("gw-0040")
    assert "<h1><bdi>Cabinet 41</bdi></h1>" in page
    assert '<span class="mono">gw-0040</span> · Depot &lt;east&gt; &amp; yard' in page
    assert "<bdi>Main meter</bdi></a></h3>" in page
    assert "Depot <east>" not in page


def test_a_gateway_that_is_new_shows_its_own_days(fleet: Fleet) -> None:
    page = fleet.page_of(PLANTED.new_gateway)
    (packed,) = re.findall(r'id="curves">(.*?)</script>', page)
    assert json.loads(packed)["days"] == ["2026-01-28", 3]


def test_hostile_names_are_text_in_html_and_cannot_end_the_script(tmp_path: Path) -> None:
    hostile = '</script><img src=x onerror="alert(1)">\u202e'
    day = row(f"{hostile}/{hostile}", hostile, gateway=hostile, unit=hostile[:32],
              last_text=hostile, day=NOW.date())  # fmt: skip
    text = row("t", hostile, gateway=hostile, last_text=hostile, last=None, mean=None)
    rows = {"sensor_days": [day, text], "boots": [{"gateway": hostile, "last_time": NOW}]}
    page = page_of(tmp_path, rows)
    assert "<img" not in page
    assert page.count("</script>") == page.count("<script")
    (packed,) = re.findall(r'id="curves">(.*?)</script>', page)
    assert json.loads(packed)["gateway"] == hostile


def test_a_gateway_without_readings_has_a_page(tmp_path: Path) -> None:
    page = page_of(tmp_path, {"boots": [{"gateway": "hall", "last_time": NOW}]})
    assert "No readings on these days." in page
    assert "id=curves" not in page


def test_tables_of_an_earlier_version_say_what_to_run(tmp_path: Path) -> None:
    boots = [{"gateway": "hall", "last_time": NOW - datetime.timedelta(hours=1)}]
    page = page_of(tmp_path, {"boots": boots}, has_sensors=False)
    assert "These tables have no sensors yet: run <code>oncegate gold</code>" in page
    assert "<dt>Sensors</dt>" not in page


def test_gaps_and_drops_are_those_of_the_gateway(fleet: Fleet) -> None:
    assert "no segment with them has landed" in fleet.page_of(PLANTED.gap)
    assert "archive-north" in fleet.page_of(PLANTED.drops)
    assert "archive-north" not in fleet.page_of(PLANTED.gap)
