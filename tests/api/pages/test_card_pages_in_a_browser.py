"""The card's pages in Chromium: on a phone without scripts, and on a desk, in dark and light."""

from pathlib import Path

from tests.api.card_site import card_site
from tests.api.chromium import open_tab
from tests.api.logging_in import PASSWORD
from tests.api.pages.test_page_in_a_browser import fill_in

PAGES = (
    "system/network",
    "system/network/change",
    "system/update",
    "system/update/install",
    "system/update/back",
)


async def test_the_card_s_pages_fit_and_the_browser_has_no_complaints(tmp_path: Path) -> None:
    async with card_site(tmp_path) as card, open_tab(tmp_path / "profile") as tab:
        await tab.look(width=360, dark=True, script=False)
        await tab.go(card.at.url + "login")
        await fill_in(tab, "carl", PASSWORD)
        trial = {"state": "trial", "sentence": "The change is on trial", "until_s": 1e9}
        for width, dark in ((360, True), (1200, False)):
            await tab.look(width=width, dark=dark, script=not dark)
            for change in (None, trial):
                card.report(change=change)
                for page in PAGES:
                    await tab.go(card.at.url + page)
                    assert await tab.evaluate("document.documentElement.scrollWidth") <= width
                    assert (await tab.screenshot()).startswith(b"\x89PNG")
        assert tab.complaints == []
