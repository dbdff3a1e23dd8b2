"""The pages of operators and administrators in Chromium, light and dark."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.acting import site
from tests.api.chromium import Tab, open_tab
from tests.api.logging_in import PASSWORD
from tests.api.pages.test_page_in_a_browser import fill_in

PAGES = (
    "session?client_id=probe",
    "actions/kick?client_id=probe",
    "actions/ban?kind=client&value=probe",
    "actions/reload",
    "actions/restart",
    "actions/reboot",
    "bans",
)


@pytest.fixture
async def tab(tmp_path: Path) -> AsyncIterator[Tab]:
    async with open_tab(tmp_path / "profile") as tab:
        yield tab


async def test_an_operator_acts_on_a_phone_without_a_script_and_on_a_desk(
    tmp_path: Path, tab: Tab
) -> None:
    async with site(tmp_path) as at:
        await tab.look(width=360, dark=True, script=False)
        await tab.go(at.url + "login")
        await fill_in(tab, "carl", PASSWORD)
        for width, dark in ((360, True), (1200, False)):
            probe = await at.broker.client(at.port, "probe")
            await tab.look(width=width, dark=dark, script=not dark)
            for page in PAGES:
                await tab.go(at.url + page)
                assert await tab.evaluate("document.documentElement.scrollWidth") <= width, page
                assert (await tab.screenshot()).startswith(b"\x89PNG")
            await tab.go(at.url + "actions/kick?client_id=probe")
            tab.forget_load()
            await tab.evaluate("document.querySelector('main form').submit()")
            await tab.wait_for_load()
            assert "Done" in await tab.evaluate("document.body.innerText")
            await probe.rest()
        assert tab.complaints == []
