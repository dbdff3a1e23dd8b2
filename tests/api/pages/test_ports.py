"""*Add a sensor* on the page: for operators, with confirmation, undo and reasons."""

import re
from pathlib import Path

import httpx

from tests.api.conftest import DEADLINE_SECONDS
from tests.api.logging_in import origin_of, token_in
from tests.api.sensor_site import sensor_site
from tests.bridge.terminal import Terminal

GPS = '[[serial]]\nname = "gps"\npath = "/dev/ttyACM0"\nframing = "nmea"\n'
FORM = {"name": "boiler", "port": "/dev/absent", "framing": "json", "line": "9600 8N1"}


async def send(browser: httpx.AsyncClient, path: str, **fields: str) -> httpx.Response:
    """Submit a form of the page."""
    token = token_in((await browser.get("/ports/new")).text)
    return await browser.post(
        path, data={"token": token, **fields}, headers={"Origin": origin_of(browser)}
    )


async def version_in(browser: httpx.AsyncClient, path: str) -> str:
    """Return the version field of the form at this path."""
    found = re.search(r'name="version" value="([^"]*)"', (await browser.get(path)).text)
    assert found is not None
    return found[1]


async def test_an_operator_adds_changes_removes_and_brings_back(tmp_path: Path) -> None:
    async with sensor_site(tmp_path, GPS) as at, at.browser("ben") as browser:
        added = await send(browser, "/ports/save", **FORM)
        assert added.status_code == 303, added.text
        assert added.headers["location"] == "/ports/sensor?name=boiler"
        text = (await browser.get("/ports")).text
        assert "/ports/remove?name=boiler" in text
        assert "/ports/remove?name=gps" not in text, "it is in gateway.toml"
        assert str(tmp_path / "gateway.toml") in text

        version = await version_in(browser, "/ports/change?name=boiler")
        settings = 'units = {temperature = "Cel"}'
        changed = await send(browser, "/ports/save", **FORM, version=version, settings=settings)
        assert changed.status_code == 303
        assert (
            "units = { temperature = &#34;Cel&#34; }"
            in (await browser.get("/ports/change?name=boiler")).text
        )

        asked = (await browser.get("/ports/remove?name=boiler")).text
        assert "Readings that were recorded stay" in asked
        assert 'href="/ports">Cancel' in asked
        version = await version_in(browser, "/ports/remove?name=boiler")
        removed = await send(browser, "/ports/remove", name="boiler", version=version)
        assert (removed.status_code, removed.headers["location"]) == (303, "/ports")
        assert not (tmp_path / "conf.d" / "boiler.toml").exists()
        assert (
            "is restored with its previous settings"
            in (await browser.get("/ports/undo?name=boiler")).text
        )
        assert (await send(browser, "/ports/undo", name="boiler")).status_code == 303
        assert (tmp_path / "conf.d" / "boiler.toml").exists()


async def test_a_refused_form_keeps_what_was_typed_and_shows_the_reason(tmp_path: Path) -> None:
    async with sensor_site(tmp_path, GPS) as at, at.browser("ben") as browser:
        for fields, words in (
            (FORM | {"name": "../x"}, "A name has 1 to 64"),
            (FORM | {"name": "gps"}, "gateway.toml has it"),
            (FORM | {"line": "fast"}, "9600 7E1"),
            (FORM | {"settings": "x ="}, "use lines like"),
            (FORM | {"settings": "<script>"}, "use lines like"),
            (FORM | {"name": ""}, "name"),
        ):
            refused = await send(browser, "/ports/save", **fields)
            assert refused.status_code in (409, 422), words
            assert words in refused.text
            assert "<script>" not in refused.text.replace("<script src", "")
            assert f'value="{fields["line"]}"' in refused.text
        stale = await browser.post(
            "/ports/save", data=FORM | {"token": "x"}, headers={"Origin": origin_of(browser)}
        )
        assert (stale.status_code, "out of date" in stale.text) == (403, True)
    assert not (tmp_path / "conf.d").exists()


async def test_a_detection_leads_to_a_form_that_is_filled_in(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "port")
    port = str(terminal.link)
    async with sensor_site(tmp_path) as at, at.browser("ben") as browser:
        begun = await send(browser, "/ports/detect", port=port)
        assert begun.status_code == 303
        page = begun.headers["location"]
        text = (await browser.get(page)).text
        assert "Listening at 115200 8N1" in text
        while "Found: json" not in text:
            terminal.send(b'{"temperature": 21.5}\n')
            text = (await browser.get(page, timeout=DEADLINE_SECONDS)).text
        assert "21.5" in text
        form = (await browser.get("/ports/new", params={"port": port})).text
        assert f'value="{port}"' in form
        assert "<option selected>json</option>" in form
        assert 'value="115200 8N1"' in form
    terminal.unplug()


async def test_a_port_that_no_detection_runs_on_offers_one(tmp_path: Path) -> None:
    async with sensor_site(tmp_path, GPS) as at, at.browser("ben") as browser:
        gone = await browser.get("/ports/detect?port=/dev/gone")
        assert (gone.status_code, "No detection runs" in gone.text) == (404, True)
        assert 'action="/ports/detect"' in gone.text
        refused = await send(browser, "/ports/detect", port="tcp://192.0.2.1:22")
        assert (refused.status_code, "A port is a path" in refused.text) == (422, True)


async def test_a_viewer_sees_no_action_and_may_open_none(tmp_path: Path) -> None:
    async with sensor_site(tmp_path, GPS) as at, at.browser("anna") as browser:
        for path in ("/", "/sensors", "/system"):
            assert "/ports" not in (await browser.get(path)).text
        for path in ("/ports", "/ports/new", "/ports/other", "/ports/remove?name=gps"):
            assert (await browser.get(path)).status_code == 403
        assert (await send_without_page(browser, "/ports/save")).status_code == 403


async def test_a_sensor_that_does_not_exist_has_no_form(tmp_path: Path) -> None:
    async with sensor_site(tmp_path, GPS) as at, at.browser("ben") as browser:
        assert "There is no sensor" in (await browser.get("/ports/remove?name=none")).text
        changing = await browser.get("/ports/change?name=gps")
        assert (changing.status_code, "change it in the file" in changing.text) == (404, True)
        assert "not read yet, or was removed" in (await browser.get("/ports/sensor?name=none")).text


async def send_without_page(browser: httpx.AsyncClient, path: str) -> httpx.Response:
    """Submit a form without having loaded its page, so without its token."""
    return await browser.post(path, data=FORM, headers={"Origin": origin_of(browser)})
