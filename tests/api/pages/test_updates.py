"""The page for updates: versions, progress, refusals, and forms that only ask."""

from pathlib import Path

from tests.api import recorded
from tests.api.acting import site
from tests.api.card_site import card_site
from tests.api.logging_in import PASSWORD
from tests.api.pages.test_actions import sent

SOURCE = "https://example.org/oncegate-0.3.0-arm64.raucb"


async def test_versions_and_the_way_back_are_shown_and_requested(tmp_path: Path) -> None:
    async with card_site(tmp_path) as card, card.at.browser("carl") as browser:
        assert "/system/update" in (await browser.get("/system")).text
        shown = (await browser.get("/system/update")).text
        for text in ("version 0.2.0", "B, confirmed", "possible, to slot A"):
            assert text in shown
        answer = await sent(
            browser, "/system/update/install", source=f" {SOURCE}", own_password=PASSWORD
        )
        assert (answer.status_code, answer.headers["location"]) == (303, "/system/update")
        answer = await sent(browser, "/system/update/back", own_password=PASSWORD)
        assert answer.status_code == 303
        assert card.asked() == {"install_update": {"source": SOURCE}, "go_back": {}}


async def test_a_mistake_is_shown_above_the_form_which_keeps_the_address(tmp_path: Path) -> None:
    async with card_site(tmp_path) as card, card.at.browser("carl") as browser:
        wrong = await sent(
            browser, "/system/update/install", source="http://a/", own_password=PASSWORD
        )
        assert wrong.status_code == 422
        assert 'value="http://a/"' in wrong.text
        assert PASSWORD not in wrong.text.partition("<main")[2]
        assert card.asked() == {}


async def test_progress_a_restart_and_a_refusal_are_shown(tmp_path: Path) -> None:
    async with card_site(tmp_path) as card, card.at.browser("carl") as browser:
        update = recorded.card()["update"]
        card.report_card(update={**update, "state": "installing", "percent": 40})
        shown = (await browser.get("/system/update")).text
        assert '<progress max="100" value="40"' in shown
        assert "/system/update/install" not in shown, "one at a time"
        assert 'http-equiv="refresh"' in shown
        card.report_card(
            update={**update, "state": "installed"}, refusal="No room <b>", no_way_back="Under way"
        )
        shown = (await browser.get("/system/update")).text
        assert "/actions/reboot" in shown
        assert "No room &lt;b&gt;" in shown
        assert "/system/update/back" not in shown


async def test_operators_and_other_systems_have_no_such_page(tmp_path: Path) -> None:
    async with site(tmp_path) as at, at.browser("carl") as browser, at.browser("ben") as operator:
        assert (await browser.get("/system/update")).status_code == 404
        assert (await browser.get("/system/update/install")).status_code == 404
        assert (await operator.get("/system/update")).status_code == 403
