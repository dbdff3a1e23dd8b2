"""The page of a thousand gateways as a real browser shows it, light and dark."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cloud_jobs.fleet_report.figures import read_figures
from cloud_jobs.fleet_report.page import page_of
from tests.api.chromium import Tab, open_tab
from tests.cloud_jobs.fleet_report.large_fleet import DAYS, NOW, write_large_fleet

GATEWAYS = 1_000
WIDTHS = (1_280, 400)
CONTRAST_MIN = 4.5
"""WCAG 2.1, 1.4.3: of text."""

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
  for (const selector of ['h1', 'h2', 'header p', '.tiles span', '.tiles b', '.tiles small',
                          'th button', 'td', '.good', '.bad', '.doubt', '.zero']) {
    const element = document.querySelector(selector);
    if (!element) continue;
    const [a, b] = [light(rgba(getComputedStyle(element).color)), light(behind(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < lowest[0]) lowest = [contrast, selector];
  }
  return lowest;
})()"""
VERDICTS_END = (
    "document.querySelector('#gateways thead th:last-child').getBoundingClientRect().right"
)
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
