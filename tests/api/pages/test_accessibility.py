"""Every page in a real browser, light and dark, wide and narrow: axe reports no fault."""

import functools
from pathlib import Path

from tests.api.alarms.gateway import warning
from tests.api.chromium import Tab, open_tab
from tests.api.contract_broker import ContractBroker
from tests.api.logging_in import PASSWORD
from tests.api.pages.test_page_in_a_browser import fill_in
from tests.api.recording import recorded_page
from tests.api.sensor_site import sensor_site
from tests.bridge.terminal import Terminal

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "contract/mqtt_client/mqttjs/node_modules/axe-core/axe.min.js"
PATHS = (
    *("/", "/sensors", "/sensors/board-0000002a", "/sensors/gps?span=day", "/sensors/none"),
    *("/clients", "/alarms", "/session?client_id=phone", "/system", "/bans", "/docs", "/log"),
    *("/configuration", "/configuration?show=all", "/topics", "/topics?below=house&retained=true"),
)

PATHS_OF_OPERATORS = (
    *("ports", "ports/other", "ports/new", "ports/change?name=boiler", "ports/sensor?name=boiler"),
    *("ports/remove?name=boiler", "ports/undo?name=boiler", "ports/change?name=gps"),
    *("actions/publish?topic=a", "actions/clear-retained?topic=a", "users"),
    *("users/password?user=anna", "users/remove?user=anna", "system/backup"),
    *("tokens/add", "tokens/remove?name=x"),
)
GPS = '[[serial]]\nname = "gps"\npath = "/dev/ttyACM0"\nframing = "nmea"\n'


AXE_RUN = """axe.run({resultTypes: ["violations"]}).then(({violations}) =>
  violations.map((fault) => [fault.id, fault.nodes[0].html.slice(0, 200)]))"""
"""JavaScript that returns only the faults: the elements of passed rules take most of the time."""


async def faults_of(tab: Tab) -> list[tuple[str, str]]:
    """Return the rules that elements of the shown page violate, with one element of each."""
    await tab.evaluate(_axe())
    return [(rule, html) for rule, html in await tab.evaluate(AXE_RUN)]


@functools.cache
def _axe() -> str:
    assert AXE.is_file(), "axe-core is not installed: run make check"
    return AXE.read_text()


async def test_axe_finds_nothing_and_no_page_is_wider_than_its_screen(
    broker: ContractBroker, status_socket: Path, tmp_path: Path
) -> None:
    broker.status["warnings"] = [warning("It is full.", fix="Empty it.")]
    found = []
    async with (
        recorded_page(status_socket, tmp_path / "history") as url,
        open_tab(tmp_path / "profile") as tab,
    ):
        for width, dark in ((1200, False), (360, True)):
            await tab.look(width=width, dark=dark)
            for path in PATHS:
                await tab.go(url.rstrip("/") + path)
                assert await tab.evaluate("document.documentElement.scrollWidth") <= width, path
                found += [(path, width, *fault) for fault in await faults_of(tab)]
    assert found == []


async def test_axe_finds_nothing_on_the_pages_of_operators(tmp_path: Path) -> None:
    found = []
    terminal = Terminal(tmp_path / "port")
    async with sensor_site(tmp_path, GPS) as at, open_tab(tmp_path / "profile") as tab:
        async with at.browser("ben") as browser:
            added = {"name": "boiler", "table": {"path": "/dev/absent", "framing": "json"}}
            assert (await browser.post("/api/v1/serial/save", json=added)).status_code == 200
            port = {"port": str(terminal.link)}
            assert (await browser.post("/api/v1/serial/detect", json=port)).status_code == 200
        await tab.go(at.url + "login")
        await fill_in(tab, "carl", PASSWORD)
        for width, dark in ((1200, False), (360, True)):
            await tab.look(width=width, dark=dark)
            frames = "ports/frames?name=boiler"
            for path in (*PATHS_OF_OPERATORS, frames, f"ports/detect?port={terminal.link}"):
                await tab.go(at.url + path)
                found += [(path, width, *fault) for fault in await faults_of(tab)]
                assert await tab.evaluate("document.documentElement.scrollWidth") <= width, path
        # The port gps is in gateway.toml, so its form does not exist and its page responds with
        # 404.
        assert [each for each in tab.complaints if "404" not in each] == []
    terminal.unplug()
    assert found == []


async def test_no_page_is_wider_than_a_screen_of_another_size(
    broker: ContractBroker, status_socket: Path, tmp_path: Path
) -> None:
    async with (
        recorded_page(status_socket, tmp_path / "history") as url,
        open_tab(tmp_path / "profile") as tab,
    ):
        for width in (320, 768):
            await tab.look(width=width)
            for path in PATHS:
                await tab.go(url.rstrip("/") + path)
                assert await tab.evaluate("document.documentElement.scrollWidth") <= width, path
