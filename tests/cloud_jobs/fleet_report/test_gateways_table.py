"""Tables of gateways and sites, and their links."""

from __future__ import annotations

from cloud_jobs.fleet_report.attention import attention_of
from cloud_jobs.fleet_report.gateways_table import Links, gateways_section, sites_section
from cloud_jobs.fleet_report.names import NO_NAMES
from tests.cloud_jobs.fleet_report.conftest import Fleet
from tests.cloud_jobs.fleet_report.simulated_fleet import PLANTED


def test_sites_have_the_sums_of_their_gateways(fleet: Fleet) -> None:
    drawn = sites_section(fleet.figures, attention_of(fleet.figures), fleet.names)
    assert drawn.count("<tr>") == 1 + 5
    assert '>Depot &lt;east&gt; &amp; yard</th><td data-v="10">10</td>' in drawn
    assert sites_section(fleet.figures, [], NO_NAMES) == ""


def test_gateways_are_grouped_by_site_and_linked(fleet: Fleet) -> None:
    groups = attention_of(fleet.figures)
    links = Links(fleet.names, frozenset({PLANTED.silent_gateway}))
    drawn = gateways_section(fleet.figures, groups, links)
    assert drawn.count("<tbody>") == drawn.count('<tr class="group">') == 5
    assert '<a href="gateways/gw-0007-' in drawn
    assert drawn.count("<a href") == 1
    assert drawn.count('<span class="badge bad">silent</span>') == 1
    assert drawn.count('<span class="badge bad">trouble</span>') == 3
    assert drawn.count('<span class="badge attention">attention</span>') == 7


def test_without_names_there_is_one_group_and_the_ids_are_shown(fleet: Fleet) -> None:
    drawn = gateways_section(fleet.figures, [], Links(NO_NAMES, frozenset()))
    assert drawn.count("<tbody>") == 1
    assert '<th scope="row">gw-0007</th>' in drawn


def test_a_link_to_a_sensor_has_its_anchor_and_names_are_escaped() -> None:
    links = Links(NO_NAMES, frozenset({"<b>"}))
    assert links.named("<b>").startswith('<a href="gateways/b-')
    assert links.named("<b>").endswith(">&lt;b&gt;</a>")
    assert ".html#sensor-" in links.to("<b>", "kettle", "kettle")
    assert links.named("<i>") == "&lt;i&gt;"
