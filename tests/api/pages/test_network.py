"""The page of name and network: facts, the form, and the trial of a change."""

import re
from pathlib import Path

from tests.api.acting import site
from tests.api.card_site import card_site
from tests.api.logging_in import PASSWORD
from tests.api.pages.test_actions import sent

FORM = "/system/network/change"
FIXED = {"ethernet": "fixed", "ethernet_address": "192.0.2.20/24", "own_password": PASSWORD}


async def test_an_administrator_changes_name_and_address_with_a_form(tmp_path: Path) -> None:
    async with card_site(tmp_path) as card, card.at.browser("carl") as browser:
        assert "/system/network" in (await browser.get("/system")).text
        page = (await browser.get("/system/network")).text
        assert "192.0.2.10/24" in page
        assert "Müller&#39;s &lt;b&gt;" in page
        asked = await sent(
            browser,
            FORM,
            hostname="shed-2",
            ethernet="fixed",
            ethernet_address="192.0.2.20/24",
            ethernet_dns="192.0.2.1, 192.0.2.2",
            wifi="keep",
            wifi_ssid="ignored",
            own_password=PASSWORD,
        )
        assert asked.status_code == 200
        port = card.at.url.rpartition(":")[2]
        assert f'href="http://shed-2.local:{port}system/network"' in asked.text
        assert f'href="http://192.0.2.20:{port}system/network"' in asked.text
        assert card.asked() == {
            "change_network": {
                "hostname": "shed-2",
                "wifi": "keep",
                "ethernet": "fixed",
                "ethernet_address": "192.0.2.20/24",
                "ethernet_dns": ["192.0.2.1", "192.0.2.2"],
            }
        }


def adapter_in(form: str) -> str:
    """Return the value of the field for the adapter in the text of a page with the form."""
    (value,) = re.findall(r'<input id="ethernet_interface" [^>]*value="([^"]*)"', form)
    return str(value)


async def test_the_form_shows_the_stored_adapter_and_what_is_submitted_counts(
    tmp_path: Path,
) -> None:
    async with card_site(tmp_path) as card, card.at.browser("carl") as browser:
        assert "<dt>Adapter</dt><dd>end0</dd>" in (await browser.get("/system/network")).text
        assert adapter_in((await browser.get(FORM)).text) == "end0"
        await sent(browser, FORM, **FIXED, ethernet_interface="eth1")
        assert card.asked()["change_network"]["ethernet_interface"] == "eth1"
        await sent(browser, FORM, **FIXED, ethernet_interface="")
        assert "ethernet_interface" not in card.asked()["change_network"]
        card.report(ethernet={"address": "192.0.2.10/24", "gateway": None, "dns": [],
                              "interface": None})  # fmt: skip
        assert "every Ethernet adapter" in (await browser.get("/system/network")).text
        assert adapter_in((await browser.get(FORM)).text) == ""


async def test_an_adapter_that_the_machine_lacks_is_shown_as_a_warning(tmp_path: Path) -> None:
    async with card_site(tmp_path) as card, card.at.browser("carl") as browser:
        card.report(ethernet={"address": "192.0.2.10/24", "gateway": None, "dns": [],
                              "interface": "missing0"})  # fmt: skip
        text = (await browser.get("/system/network")).text
        assert 'This machine has no adapter <bdi class="mono">missing0</bdi>, so no' in text


async def test_an_adapter_s_name_with_a_wildcard_is_refused_and_stays_in_the_form(
    tmp_path: Path,
) -> None:
    async with card_site(tmp_path) as card, card.at.browser("carl") as browser:
        wrong = await sent(browser, FORM, **FIXED, ethernet_interface="eth*")
        assert wrong.status_code == 422
        assert "one adapter&#39;s name" in wrong.text
        assert adapter_in(wrong.text) == "eth*"
        assert card.asked() == {}


async def test_a_mistake_is_shown_above_the_form_which_keeps_all_but_passwords(
    tmp_path: Path,
) -> None:
    async with card_site(tmp_path) as card, card.at.browser("carl") as browser:
        wrong = await sent(
            browser,
            FORM,
            wifi="join",
            wifi_ssid="Shed",
            wifi_password="short",  # noqa: S106
            own_password=PASSWORD,
        )
        assert wrong.status_code == 422
        assert "wifi_password" in wrong.text
        assert 'value="Shed"' in wrong.text
        for secret in ("short", PASSWORD):
            assert f'value="{secret}"' not in wrong.text
        assert card.asked() == {}


async def test_a_change_on_trial_is_kept_or_undone_with_a_button(tmp_path: Path) -> None:
    async with card_site(tmp_path) as card, card.at.browser("carl") as browser:
        card.report(change={"state": "trial", "sentence": "The change is on trial", "until_s": 1e9})
        shown = (await browser.get("/system/network")).text
        assert "Keep the change" in shown
        assert FORM not in shown, "one change at a time"
        token = re.findall(r'keep"><input type="hidden" name="token" value="(\w[^"]*)"', shown)[0]
        for verb in ("keep", "undo"):
            answer = await browser.post(f"/system/network/{verb}", data={"token": token})
            assert (answer.status_code, answer.headers["location"]) == (303, "/system/network")
        assert card.asked() == {"keep_network": {}, "undo_network": {}}
        stale = await browser.post("/system/network/keep", data={"token": "x"})
        assert (stale.status_code, card.asked()) == (403, {})


async def test_operators_and_other_systems_have_no_such_page(tmp_path: Path) -> None:
    async with site(tmp_path) as at, at.browser("carl") as browser, at.browser("ben") as operator:
        assert "/system/network" not in (await browser.get("/system")).text
        assert (await browser.get("/system/network")).status_code == 404
        assert (await browser.get(FORM)).status_code == 404
        assert (await operator.get("/system/network")).status_code == 403
