"""Actions that would stop the gateway's own bridge or uplink ask with a warning before."""

from pathlib import Path

import httpx
import pytest

from api.status.consequences import consequences_of
from api.status.control_socket import ControlSocket
from api.status.observer import Observer
from gateway.process.control.client import ControlClient
from tests.api import recorded
from tests.api.acting import site
from tests.api.conftest import DEADLINE_SECONDS
from tests.api.contract_broker import ContractBroker
from tests.api.pages.test_actions import sent

STOPS = "no reading of a serial sensor"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("client", "oncegate-bridge"),
        ("user", "bridge"),
        ("address", "127.0.0.1"),
        ("address", "127.0.0.0/8"),
    ],
)
async def test_a_ban_that_meets_the_bridge_names_what_it_stops(
    broker: ContractBroker, status_socket: Path, kind: str, value: str
) -> None:
    broker.sessions = recorded.sessions()
    observer = Observer(ControlSocket(status_socket))
    (sentence,) = await consequences_of(observer, "ban", {"kind": kind, "value": value})
    assert STOPS in sentence
    await observer.close()


@pytest.mark.parametrize(
    ("kind", "value"),
    [("client", "phone"), ("user", "anna"), ("address", "192.0.2.7"), ("address", "no address")],
)
async def test_a_ban_of_others_stops_nothing_of_the_gateway(
    broker: ContractBroker, status_socket: Path, kind: str, value: str
) -> None:
    broker.sessions = recorded.sessions()
    observer = Observer(ControlSocket(status_socket))
    assert await consequences_of(observer, "ban", {"kind": kind, "value": value}) == ()
    await observer.close()


async def test_a_disconnected_bridge_comes_back_and_the_page_warns(
    broker: ContractBroker, status_socket: Path
) -> None:
    observer = Observer(ControlSocket(status_socket))
    (sentence,) = await consequences_of(observer, "kick", {"client_id": "oncegate-bridge"})
    assert "connects again by itself" in sentence
    assert await consequences_of(observer, "kick", {"client_id": "phone"}) == ()
    await observer.close()


async def test_the_bridge_is_banned_only_by_someone_who_has_read_what_it_stops(
    tmp_path: Path,
) -> None:
    async with site(tmp_path) as at:
        bridge = {"mqtt": {"connected": True, "address": "a:1", "session": "oncegate-bridge-1"}}
        control = ControlClient(tmp_path / "data" / "control.sock", DEADLINE_SECONDS)
        status = recorded.bridge_status() | bridge
        await control.request({"command": "report", "source": "bridge", "status": status})
        control.close()
        ban = {"kind": "client", "value": "oncegate-bridge-1"}
        async with at.browser("ben") as browser:
            asked = await sent(browser, "/actions/ban", **ban)
            assert asked.status_code == 200
            assert STOPS in asked.text
            assert "Cancel" in asked.text
            assert at.counted == {}
            done = await sent(browser, f"/actions/ban?kind=client&value={ban['value']}", **ban)
            assert "Done" in done.text
            assert at.counted == {"ban": 1}


async def test_every_page_names_the_gateway(
    broker: ContractBroker, client: httpx.AsyncClient
) -> None:
    name = recorded.status()["gateway"]
    for path in ("/", "/session?client_id=archive", "/bans", "/docs", "/nowhere"):
        answer = await client.get(path, headers={"Accept": "text/html"})
        assert f"<bdi>{name}</bdi>" in answer.text, path
