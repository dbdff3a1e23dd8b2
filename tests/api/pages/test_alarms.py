"""The page of alarms, which everyone may read, with a form to acknowledge an alarm."""

import re
from pathlib import Path

from tests.api.logging_in import token_in
from tests.api.rest.test_alarms import alarms_of, site_that_dropped


async def test_an_operator_acknowledges_with_a_form_and_the_history_has_it(tmp_path: Path) -> None:
    async with site_that_dropped(tmp_path) as at, at.browser("ben") as browser:
        await alarms_of(browser, "messages_dropped")
        text = (await browser.get("/alarms")).text
        assert "Messages were dropped" in text
        assert "max_mqueue_len" in text
        form = text.partition("/alarms/acknowledge")[2]
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form)[:3])
        assert hidden["token"] == token_in(form)
        done = await browser.post("/alarms/acknowledge", data=hidden)
        assert (done.status_code, done.headers["location"]) == (303, "/alarms")
        assert "acknowledged by <bdi>ben</bdi>" in (await browser.get("/alarms")).text
        stale = await browser.post("/alarms/acknowledge", data=hidden | {"token": "x"})
        assert stale.status_code == 403
        assert "out of date" in stale.text


async def test_a_viewer_sees_the_alarms_without_a_button(tmp_path: Path) -> None:
    async with site_that_dropped(tmp_path) as at, at.browser("anna") as browser:
        await alarms_of(browser, "messages_dropped")
        text = (await browser.get("/alarms")).text
        assert "Messages were dropped" in text
        assert "/alarms/acknowledge" not in text
