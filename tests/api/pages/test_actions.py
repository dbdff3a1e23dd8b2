"""Forms on the page at a real broker: confirmed, carried out, or refused with the fix."""

import re
from pathlib import Path

import httpx
import pytest

from gateway.broker.wire.codes import BANNED
from tests.api.acting import site
from tests.api.logging_in import token_in


async def sent(browser: httpx.AsyncClient, address: str, **more: str) -> httpx.Response:
    """Load the page that asks for confirmation, and submit its form.

    The page's first form is the one to log out.
    """
    asked = await browser.get(address)
    assert asked.status_code == 200, asked.text
    form = asked.text.partition("<main")[2]
    hidden = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form)
    assert ("token", token_in(form)) in hidden
    return await browser.post(address.partition("?")[0], data=dict(hidden) | more)


async def test_an_operator_disconnects_bans_and_lifts_with_forms(tmp_path: Path) -> None:
    async with site(tmp_path) as at, at.browser("ben") as browser:
        probe = await at.broker.client(at.port, "probe")
        assert (
            "/actions/kick?client_id=probe" in (await browser.get("/session?client_id=probe")).text
        )
        assert "Done" in (await sent(browser, "/actions/kick?client_id=probe")).text
        await probe.rest()
        banned = await sent(
            browser, "/actions/ban", kind="client", value="probe", reason="<b>", seconds="3600"
        )
        assert banned.status_code == 200, banned.text
        await at.broker.client(at.port, "probe", reason_code=BANNED)
        assert "&lt;b&gt;" in (await browser.get("/bans")).text
        assert "Done" in (await sent(browser, "/actions/lift-ban?kind=client&value=probe")).text
        await at.broker.client(at.port, "probe")
        assert at.counted == {"kick": 1, "ban": 1, "lift_ban": 1}


async def test_a_reload_shows_what_waits_and_a_mistake_with_its_fix(tmp_path: Path) -> None:
    async with site(tmp_path) as at, at.browser("carl") as browser:
        at.broker.written |= {"mqtt.max_inflight": 7, "gateway.id": "gw-other"}
        done = await sent(browser, "/actions/reload")
        assert "mqtt.max_inflight" in done.text
        assert "gateway.id" in done.text
        at.broker.written |= {"mqtt.max_inflight": -7}
        refused = await sent(browser, "/actions/reload")
        assert refused.status_code == 409
        assert "oncegate check-config" in refused.text


@pytest.mark.parametrize("command", ["restart", "reboot"])
async def test_an_administrator_restarts_with_a_form_that_names_the_effect(
    tmp_path: Path, command: str
) -> None:
    async with site(tmp_path) as at, at.browser("carl") as browser:
        assert f"/actions/{command}" in (await browser.get("/system")).text
        refused = await sent(browser, f"/actions/{command}")
        assert refused.status_code == 409
        assert "stop <code>oncegate up</code> with Ctrl-C" in refused.text
        requests = at.broker.read().gateway.control_socket.parent / "requests"
        requests.mkdir()
        asked = await browser.get(f"/actions/{command}")
        assert "essages that were acknowledged are kept" in asked.text
        done = await sent(browser, f"/actions/{command}")
        assert "This page answers again in" in done.text
        assert [each.name for each in requests.iterdir()] == [command]


@pytest.mark.parametrize(
    ("more", "origin", "status"),
    [
        ({"token": "x"}, None, 403),
        ({}, "http://evil.example", 403),
        ({"value": ""}, None, 422),
        ({"seconds": "soon"}, None, 422),
        ({"kind": "all"}, None, 422),
    ],
)
async def test_a_form_that_is_wrong_or_from_elsewhere_does_nothing(
    tmp_path: Path, more: dict[str, str], origin: str | None, status: int
) -> None:
    async with site(tmp_path) as at, at.browser("ben") as browser:
        if origin is not None:
            browser.headers["Origin"] = origin
        answer = await sent(browser, "/actions/ban", **{"kind": "user", "value": "x"} | more)
        assert answer.status_code == status
        assert 'role="alert"' in answer.text
        assert at.counted == {}


async def test_who_may_not_act_is_shown_no_action(tmp_path: Path) -> None:
    async with site(tmp_path) as at, at.browser("anna") as browser:
        await at.broker.client(at.port, "probe")
        for address in ("/", "/bans", "/session?client_id=probe"):
            assert "/actions/" not in (await browser.get(address)).text
