"""The latest frames of a port, which operators may see, from a bridge that reads the port."""

import asyncio
import json
from pathlib import Path

from tests.api.conftest import DEADLINE_SECONDS
from tests.api.sensor_site import sensor_site, site_with_bridge
from tests.bridge.terminal import Terminal

URL = "/api/v1/serial/frames?name=boiler"
PAGE = "/ports/frames?name=boiler"


async def test_operators_see_the_frames_of_a_port_with_values_and_damage(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "port")
    table = f'[[serial]]\nname = "boiler"\npath = "{terminal.link}"\nframing = "json"\n'
    async with site_with_bridge(tmp_path, table) as at, at.browser("ben") as browser:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while len((found := (await browser.get(URL)).json()).get("frames", [])) < 2:
                terminal.send(json.dumps({"temperature": 21.5}).encode() + b"\n<b>\n")
        assert {each["state"] for each in found["frames"]} <= {"sound", "damaged"}
        text = (await browser.get(PAGE)).text
        assert "temperature=21.5" in text
        assert "7b 22 74" in text, "the bytes"
        assert "&lt;b&gt;" in text or "·" in text
        async with at.browser("anna") as viewer:
            assert (await viewer.get(URL)).status_code == 403
            assert (await viewer.get(PAGE)).status_code == 403
    terminal.unplug()


async def test_a_port_that_is_not_read_is_named_so(tmp_path: Path) -> None:
    async with sensor_site(tmp_path) as at, at.browser("ben") as browser:
        absent = await browser.get(PAGE)
        assert absent.status_code == 404
        assert "reads no port of this name" in absent.text
        assert (await browser.get(URL)).status_code == 404
