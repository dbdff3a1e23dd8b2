"""A sensor is added, changed, removed and restored in a browser, on a whole gateway."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.broker.access.passwords.file import set_password
from tests.api.chromium import Tab, open_tab
from tests.api.logging_in import PASSWORD
from tests.api.pages.test_page_in_a_browser import fill_in
from tests.bridge.terminal import Terminal
from tests.system.whole_gateway import WholeGateway

CONFIGURATION = """
[access]
password_file = "{directory}/passwords"
[api]
operators = ["ben"]
"""
EACH_SECONDS = 0.2


@asynccontextmanager
async def sensor_on(terminal: Terminal) -> AsyncIterator[None]:
    """Simulate a sensor that sends several lines of JSON per second."""

    async def send() -> None:
        for number in range(1_000_000):
            terminal.send(json.dumps({"temperature": 20 + number % 10}).encode() + b"\n")
            await asyncio.sleep(EACH_SECONDS)

    sending = asyncio.create_task(send())
    try:
        yield
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def press(tab: Tab, selector: str) -> None:
    """Press a button or follow a link, and wait for the next page."""
    tab.forget_load()
    await tab.evaluate(f"document.querySelector({selector!r}).click()")
    await tab.wait_for_load()


async def shown(tab: Tab, *words: str) -> None:
    """Wait until the page, which refreshes itself, shows all words."""
    text = "document.querySelector('main').innerText"
    await tab.wait_until(" && ".join(f"{text}.includes({word!r})" for word in words))


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_from_plugging_in_to_the_first_reading_and_back_in_a_browser(
    gateway: WholeGateway, tmp_path: Path
) -> None:
    set_password(gateway.directory / "passwords", "ben", PASSWORD.encode(), scram_iterations=4_096)
    gateway.configure(CONFIGURATION.format(directory=gateway.directory))
    terminal = Terminal(tmp_path / "ttySENSOR")
    await asyncio.to_thread(gateway.start)
    site = f"http://127.0.0.1:{gateway.page_port}"
    async with sensor_on(terminal), open_tab(tmp_path / "profile") as tab:
        await tab.look(width=1200)
        await tab.go(f"{site}/login")
        await fill_in(tab, "ben", PASSWORD)
        await tab.go(f"{site}/sensors")
        await press(tab, "a[href='/ports']")
        await press(tab, "a[href='/ports/other']")
        await tab.evaluate(f"document.querySelector('#port').value = {str(terminal.link)!r}")
        await press(tab, "main button")
        await shown(tab, "Found: json", "temperature")
        await press(tab, "a[href^='/ports/new']")
        assert await tab.evaluate("document.querySelector('#framing').value") == "json"
        await tab.evaluate("document.querySelector('#name').value = 'boiler'")
        await press(tab, "main button")
        await shown(tab, "reading", "temperature")
        assert (gateway.directory / "conf.d" / "boiler.toml").is_file()

        await tab.go(f"{site}/ports/change?name=boiler")
        await tab.evaluate(
            "document.querySelector('#settings').value = 'units = {temperature = 1}'"
        )
        await press(tab, "main button")
        assert "units" in await tab.evaluate(
            "document.querySelector('main [role=alert]').innerText"
        )
        units = 'units = {temperature = "Cel"}'
        await tab.evaluate(f"document.querySelector('#settings').value = {units!r}")
        await press(tab, "main button")
        await shown(tab, "temperature", "°C")

        await tab.go(f"{site}/ports")
        await press(tab, "a[href='/ports/remove?name=boiler']")
        await press(tab, "main button")
        await shown(tab, "removed")
        assert not (gateway.directory / "conf.d" / "boiler.toml").exists()
        await press(tab, "a[href='/ports/undo?name=boiler']")
        await press(tab, "main button")
        await tab.go(f"{site}/ports/sensor?name=boiler")
        await shown(tab, "reading", "temperature", "°C")
    terminal.unplug()
    assert await asyncio.to_thread(gateway.stop) == 0
