"""The page in a real browser."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api import limits
from tests.api import recorded
from tests.api.alarms.gateway import warning
from tests.api.card_files import CardFiles
from tests.api.chromium import Tab, open_tab
from tests.api.conftest import serving
from tests.api.contract_broker import ContractBroker
from tests.api.logging_in import PASSWORD, page_with_users

HOSTILE_IDS = (
    "<script>document.title='broken'</script>",
    '"><img src=x onerror="document.title=1">',
    "a" * 60_000,
    "right-to-left \u202e gnp.exe",
    "z" + "\u0301" * 200,
    "W" * 96,
)


@pytest.fixture
async def tab(tmp_path: Path) -> AsyncIterator[Tab]:
    async with open_tab(tmp_path / "profile") as tab:
        yield tab


def break_everything(broker: ContractBroker) -> None:
    """Give the contract broker's answers every kind of fault, and an attacker's names."""
    broker.status["warnings"] = [warning("The queue of client " + "W" * 300 + " is full.")]
    broker.status["messages"]["dropped"] = {"queue_full": 3, "x" * 500: 1}
    ports = broker.reports["bridge"]["status"]["ports"]
    broker.status["disk"] = recorded.full_disk(removed={"sent": 12, "x" * 500: 1})
    broker.status["clock"] = "unsynchronised"
    ports[0]["devices"][0]["boot"] = 2**62 + 3
    ports[0]["devices"][0]["quantities"][0].update(value=float("nan"), time_ms=10**15)
    ports[0].update(state="lost", name=HOSTILE_IDS[0], path="/dev/" + "W" * 500)
    ports[0]["devices"][0].update(device=HOSTILE_IDS[1])
    ports[0]["devices"][0]["quantities"].append(
        recorded.quantity("W" * 300, "<b>" + "W" * 300, "W" * 300)
    )
    broker.reports["uploader"]["status"].update(
        error="<script>" + "W" * 3000, failing_since_ms=recorded.NOW_MS - 300_000
    )
    broker.sessions = [recorded.session(client_id) for client_id in HOSTILE_IDS]


def break_the_card(card: CardFiles) -> None:
    """Report a failed update and mistakes in gateway.toml, with long texts that have no spaces."""
    words = "<script>" + "W" * 500
    update = {**recorded.card()["update"], "state": "failed", "sentence": words, "advice": words}
    slot = {"slot": "A", "version": words, "store_format": 5}
    lines = ["gateway.toml was not taken.", *[words] * 63]
    card.put(other=slot, update=update, note=words, provisioning={"taken": False, "lines": lines})


async def test_the_page_fits_every_screen_and_breaks_no_policy_whatever_clients_are_called(
    url: str, broker: ContractBroker, tab: Tab, tmp_path: Path
) -> None:
    break_everything(broker)
    break_the_card(CardFiles(tmp_path))
    for width, dark in ((360, False), (768, True), (1200, False)):
        await tab.look(width=width, dark=dark)
        for path in (
            "docs",
            "session?client_id=" + "W" * 96,
            "sensors",
            "clients",
            "alarms",
            "system",
            "",
        ):
            await tab.go(url + path)
            assert await tab.evaluate("document.documentElement.scrollWidth") <= width, path
        assert (await tab.screenshot()).startswith(b"\x89PNG")
    assert await tab.evaluate("document.querySelectorAll('#live script, #live img').length") == 0
    assert "Disk is full" in await tab.evaluate("document.title")
    assert tab.complaints == []


async def test_a_person_logs_in_looks_and_logs_out(
    broker: ContractBroker, status_socket: Path, tab: Tab
) -> None:
    async with page_with_users(broker, status_socket) as client:
        url = str(client.base_url)
        for width, dark, script in ((360, True, False), (1200, False, True)):
            await tab.look(width=width, dark=dark, script=script)
            await tab.go(url + "docs")
            await fill_in(tab, "anna", "wrong")
            assert "The name or the password is wrong" in await tab.evaluate(
                "document.body.innerText"
            )
            assert await tab.evaluate("document.documentElement.scrollWidth") <= width
            await fill_in(tab, "anna", PASSWORD)
            assert await tab.evaluate("location.pathname") == "/docs"
            await tab.go(url)
            words = await tab.evaluate("document.body.innerText")
            assert "All is well" in words
            assert "anna" in words
            assert await tab.evaluate("document.documentElement.scrollWidth") <= width
            assert await tab.evaluate("document.cookie") == "", "no script can read it"
            tab.forget_load()
            await tab.evaluate("document.querySelector('.who').submit()")
            await tab.wait_for_load()
            await tab.go(url)
            assert await tab.evaluate("location.pathname") == "/login"
        # The browser logs a 403 in its console after a mistyped password.
        assert [each for each in tab.complaints if "403" not in each] == []


async def test_a_login_that_ends_leads_an_open_page_to_the_form(
    broker: ContractBroker, status_socket: Path, tab: Tab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LOGIN_CONFIRMED_SECONDS", 0.0)
    async with page_with_users(broker, status_socket) as client:
        await tab.look(width=1200)
        await tab.go(str(client.base_url))
        await fill_in(tab, "anna", PASSWORD)
        tab.forget_load()
        del broker.users["anna"]
        await tab.wait_for_load()
        assert await tab.evaluate("location.pathname") == "/login"


async def fill_in(tab: Tab, username: str, password: str) -> None:
    """Submit the login form."""
    tab.forget_load()
    await tab.evaluate(
        f"""(() => {{
          document.getElementById("username").value = {username!r};
          document.getElementById("password").value = {password!r};
          document.querySelector(".login form").submit();
        }})()"""
    )
    await tab.wait_for_load()


async def test_numbers_change_in_place_without_a_reload(
    url: str, broker: ContractBroker, tab: Tab
) -> None:
    await tab.look(width=1200)
    await tab.go(url)
    await tab.evaluate("window.shown = document.querySelector('.quantity .value bdi'); 0")
    device = broker.reports["bridge"]["status"]["ports"][0]["devices"][0]
    device["quantities"][0]["value"] = 19.75
    await tab.wait_until("document.querySelector('.quantity .value bdi').textContent === '19.75'")
    assert await tab.evaluate("window.shown === document.querySelector('.quantity .value bdi')")


async def test_what_a_person_has_opened_stays_open(
    url: str, broker: ContractBroker, tab: Tab
) -> None:
    await tab.look(width=1200)
    await tab.go(url + "sensors")
    await tab.evaluate("document.querySelector('details').open = true; 0")
    broker.reports["bridge"]["status"]["ports"][0]["frames"] = 6_199
    await tab.wait_until("document.querySelector('summary').textContent.includes('6,199')")
    assert await tab.evaluate("document.querySelector('details').open")


async def test_the_page_shows_by_itself_that_the_gateway_went_down_and_came_back(
    url: str, broker: ContractBroker, status_socket: Path, tab: Tab
) -> None:
    await tab.look(width=1200)
    await tab.go(url)
    await broker.stop()
    await tab.wait_until("document.title.startsWith('Gateway is down')")
    assert "gw-5f3a91c2" in await tab.evaluate("document.body.innerText")
    async with ContractBroker(status_socket):
        await tab.wait_until("document.title.startsWith('All is well')")


async def test_the_page_shows_that_its_own_server_is_gone(
    status_socket: Path, broker: ContractBroker, tab: Tab
) -> None:
    await tab.look(width=1200)
    async with serving(status_socket) as url:
        await tab.go(url)
    await tab.wait_until("!document.getElementById('silence').hidden")
    assert "has not answered since" in await tab.evaluate("document.body.innerText")


async def test_the_page_is_whole_and_reloads_itself_without_javascript(
    url: str, broker: ContractBroker, tab: Tab
) -> None:
    await tab.look(width=1200, script=False)
    await tab.go(url)
    words = await tab.evaluate("document.body.innerText")
    for word in ("All is well", "board-0000002a", "21.5", "It reloads"):
        assert word in words
    asked = broker.count_of("status")
    tab.forget_load()
    await tab.wait_for_load()
    assert broker.count_of("status") > asked
