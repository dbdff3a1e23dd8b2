"""The pages as a real browser shows them: light, dark, on a phone; curves, links and CSV."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cloud_jobs.fleet_report.document import anchor_of
from cloud_jobs.fleet_report.figures import read_figures
from cloud_jobs.fleet_report.page import page_of
from tests.api.chromium import Tab, open_tab
from tests.cloud_jobs.fleet_report.conftest import Fleet
from tests.cloud_jobs.fleet_report.large_fleet import DAYS, NOW, write_large_fleet
from tests.cloud_jobs.fleet_report.simulated_fleet import PLANTED

GATEWAYS = 1_000
WIDTHS = (1_280, 390)
CONTRAST_MIN = 4.5
"""Minimum contrast ratio of text (WCAG 2.1, 1.4.3)."""

LOWEST_CONTRAST = """(() => {
  const channel = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const found = rgba(getComputedStyle(one).backgroundColor);
      if (found[3] === 255) return found;
    }
    return rgba(getComputedStyle(document.documentElement).backgroundColor);
  };
  let lowest = [99, ''];
  const seen = 'h1, h2, h3, p, a, dt, dd, small, summary, th, th button, td, .badge, .aside, ' +
    '.good, .bad, .doubt, .zero, .switch span, .csv, figcaption span, .levels li';
  const found = new Map();
  for (const element of document.querySelectorAll(seen)) {
    const kind = `${element.tagName} ${element.className} ${element.parentElement.className}`;
    if (element.offsetParent && !found.has(kind)) found.set(kind, element);
  }
  for (const [selector, element] of found) {
    const [a, b] = [light(rgba(getComputedStyle(element).color)), light(behind(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < lowest[0]) lowest = [contrast, selector];
  }
  return lowest;
})()"""
VERDICTS_END = (
    "document.querySelector('#gateways thead th:last-child').getBoundingClientRect().right"
)
SAVED = """(() => {
  window.saved = [];
  const make = URL.createObjectURL.bind(URL);
  URL.createObjectURL = (blob) => { window.saved.push(blob); return make(blob); };
})()"""
"""A script that records what the page saves, so that a test can read it."""
FIGURES = "[...document.querySelectorAll('.curve')].filter(f => f.offsetParent)"
ROWS_SHOWN = "[...document.querySelectorAll('#gateways tbody tr')].filter(r => r.offsetParent)"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("large-fleet")
    write_large_fleet(root, GATEWAYS)
    path = root / "fleet.html"
    path.write_text(page_of(read_figures(str(root), len(DAYS), NOW)))
    return path


@pytest.fixture
async def tab(tmp_path: Path) -> AsyncIterator[Tab]:
    async with open_tab(tmp_path / "profile") as tab:
        yield tab


@pytest.mark.slow
async def test_a_thousand_gateways_fit_and_can_be_read_in_light_and_dark(
    tab: Tab, page: Path
) -> None:
    for is_dark in (False, True):
        for width in reversed(WIDTHS):
            await tab.look(width=width, dark=is_dark)
            await tab.go(page.as_uri())
            assert await tab.evaluate("document.documentElement.scrollWidth") <= width
            contrast, where = await tab.evaluate(LOWEST_CONTRAST)
            assert contrast >= CONTRAST_MIN, (where, is_dark)
        # One long name does not push the verdicts out of sight.
        assert await tab.evaluate(VERDICTS_END) <= WIDTHS[0]
    assert await tab.evaluate("document.querySelectorAll('#gateways tbody tr').length") == GATEWAYS
    assert await tab.evaluate("document.title") == f"Oncegate fleet, {DAYS[-1]}"
    assert tab.complaints == []


@pytest.mark.slow
async def test_one_gateway_of_a_thousand_is_found_and_the_table_sorted(
    tab: Tab, page: Path
) -> None:
    await tab.look(width=WIDTHS[0])
    await tab.go(page.as_uri())
    await tab.evaluate(
        "(() => { const find = document.querySelector('#find'); find.value = 'gw-0123';"
        " find.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )
    await tab.wait_until(f"{ROWS_SHOWN}.length === 1")
    await tab.evaluate(
        "(() => { const find = document.querySelector('#find'); find.value = '';"
        " find.dispatchEvent(new Event('input', {bubbles: true}));"
        " document.querySelector('#gateways th button').click(); })()"
    )
    names = await tab.evaluate(f"{ROWS_SHOWN}.map(row => row.querySelector('th').textContent)")
    assert len(names) == GATEWAYS
    assert names in (sorted(names), sorted(names, reverse=True))
    assert tab.complaints == []


@pytest.mark.slow
async def test_each_page_of_a_fleet_can_be_read_in_light_dark_and_on_a_phone(
    tab: Tab, fleet: Fleet
) -> None:
    pages = [fleet.folder / "index.html"]
    for gateway in (PLANTED.silent_sensor, PLANTED.silent_gateway, PLANTED.new_gateway):
        pages += (fleet.folder / "gateways").glob(f"{gateway}-*")
    for page in pages:
        for width, is_dark in ((1_280, False), (1_280, True), (390, False)):
            await tab.look(width=width, dark=is_dark)
            await tab.go(page.as_uri())
            assert await tab.evaluate("document.documentElement.scrollWidth") <= width
            contrast, where = await tab.evaluate(LOWEST_CONTRAST)
            assert contrast >= CONTRAST_MIN, (page.name, where, is_dark)
    assert tab.complaints == []


@pytest.mark.slow
async def test_a_line_of_the_list_leads_to_its_sensor_alone_and_back_to_all(
    tab: Tab, fleet: Fleet
) -> None:
    await tab.look(width=WIDTHS[0])
    await tab.go((fleet.folder / "index.html").as_uri())
    tab.forget_load()
    await tab.evaluate("document.querySelector('#silent-sensors a').click()")
    await tab.wait_for_load()
    assert (await tab.evaluate("location.hash")) == f"#{anchor_of('board-00000003')}"
    sensors = "[...document.querySelectorAll('.sensor')].filter(s => s.offsetParent)"
    names = f"{sensors}.map(s => s.querySelector('h3').textContent)"
    assert await tab.evaluate(names) == ["board-00000003"]
    assert await tab.evaluate(f"{FIGURES}.length") == 3
    await tab.evaluate("document.querySelector('.all a').click()")
    assert len(await tab.evaluate(names)) == 4
    tab.forget_load()
    await tab.evaluate("document.querySelector('.back a').click()")
    await tab.wait_for_load()
    assert await tab.evaluate("document.querySelectorAll('#gateways tbody tr').length") == 55
    assert tab.complaints == []


@pytest.mark.slow
async def test_curves_fit_their_data_show_values_and_change_to_quarters_of_an_hour(
    tab: Tab, fleet: Fleet
) -> None:
    await tab.look(width=WIDTHS[0])
    (page,) = (fleet.folder / "gateways").glob("gw-0001-*")
    await tab.go(page.as_uri())
    labels = f"{FIGURES}.map(f => f.querySelector('svg').getAttribute('aria-label'))"
    assert "pressure from 1 Jan to 30 Jan" in await tab.evaluate(labels)
    assert "energy per day from 1 Jan to 30 Jan" in await tab.evaluate(labels)
    pressure = f"{FIGURES}.find(f => f.textContent.includes('pressure'))"
    ticks = await tab.evaluate(
        f"[...{pressure}.querySelectorAll('text[text-anchor=end]')].map(t => t.textContent)"
    )
    assert ticks[0] == "1,005"
    await tab.evaluate(
        f"(() => {{ const svg = {pressure}.querySelector('svg');"
        " const box = svg.getBoundingClientRect();"
        " svg.dispatchEvent(new PointerEvent('pointermove', {clientX: box.left + box.width / 2,"
        " clientY: box.top + 20})); })()"
    )
    shown = await tab.evaluate(f"{pressure}.querySelector('figcaption span').textContent")
    assert re.fullmatch(r"1\d Jan: mean 1,01[\d.]+ hPa, 1,0[\d.]+ to 1,0[\d.]+", shown)
    await tab.evaluate("document.querySelector('[name=range][value=q]').click()")
    assert "pressure from 29 Jan 00:00 to 30 Jan 11:45" in await tab.evaluate(labels)
    assert tab.complaints == []


@pytest.mark.slow
async def test_what_a_page_shows_is_saved_as_csv(tab: Tab, fleet: Fleet) -> None:
    await tab.look(width=WIDTHS[0])
    await tab.go((fleet.folder / "index.html").as_uri())
    await tab.evaluate(SAVED)
    await tab.evaluate("document.querySelector('[data-table=gateways]').click()")
    lines = (await tab.evaluate("saved[0].text()")).splitlines()
    assert lines[0].startswith("Site,Gateway,State,Last seen,Version,Sensors,Silent,")
    assert "Offline (seconds)" in lines[0]
    assert len(lines) == 51
    (page,) = (fleet.folder / "gateways").glob("gw-0031-*")
    await tab.go(page.as_uri())
    await tab.evaluate(SAVED)
    for button in ("[data-quantities]", "[data-curves=d]", "[data-curves=q]"):
        await tab.evaluate(f"document.querySelector('{button}').click()")
    last, days, quarters = [
        (await tab.evaluate(f"saved[{n}].text()")).splitlines() for n in range(3)
    ]
    assert last[0].startswith("Sensor,Quantity,Last value,Last reading,Lowest,Mean")
    assert len(last) == 1 + 8
    assert days[0] == ("gateway,sensor,name,day,unit,readings,minimum,mean,maximum,increase,"
                       "missing,repeats,resets")  # fmt: skip
    assert sum(line.endswith(",8.2,,,1") for line in days) == 1
    assert len(days) == 1 + 8 * 30
    assert any(line.startswith("gw-0031,door,door/open,2026-01-30T11:45:00Z,") for line in quarters)
    assert tab.complaints == []
