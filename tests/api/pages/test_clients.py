"""The page that searches for clients."""

import httpx
import pytest

from tests.api import recorded
from tests.api.contract_broker import ContractBroker
from tests.api.page_reader import HOSTILE, Reader, read


def listed(page: Reader) -> list[str]:
    links = [found["href"] or "" for tag, found in page.elements if tag == "a"]
    return [httpx.URL(each).params["client_id"] for each in links if each.startswith("/session?")]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["archive", "dashboard", "oncegate-bridge", "phone"]),
        ("search=ARCH", ["archive"]),
        ("search=h&state=connected", ["dashboard", "phone"]),
        ("state=away", ["archive"]),
        ("state=drops", ["phone"]),
        ("search=none", []),
    ],
)
async def test_sessions_are_found_by_id_and_state(
    client: httpx.AsyncClient, broker: ContractBroker, query: str, expected: list[str]
) -> None:
    page = await read(client, f"/clients?{query}")
    assert listed(page) == expected
    assert ("No match among 4 sessions" in page.words) is not bool(expected)


async def test_the_broker_is_asked_for_what_matches_in_the_order_and_page_by_page(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    broker.sessions = [recorded.session(f"client-{number:05}") for number in range(200)]
    found: list[str] = []
    path: str | None = "/clients?search=1&user=bridge&state=connected&sort=queued"
    while path is not None:
        page = await read(client, path)
        found += listed(page)
        links = [each["href"] or "" for tag, each in page.elements if each.get("rel") == "next"]
        path = links[0] if links else None
    assert found == [f"client-{number:05}" for number in range(200) if "1" in f"{number:05}"]
    asked = broker.of("sessions")
    assert {(each["user"], each["state"], each["sort"]) for each in asked} == {
        ("bridge", "connected", "queued")
    }
    assert len(asked) == len(found) // 50 + 1
    for words in ("user bridge", "listener 127.0.0.1:1883", "seen 3 s ago"):
        assert words in page.words.replace("\N{NO-BREAK SPACE}", " ")


async def test_a_hostile_search_is_text(client: httpx.AsyncClient, broker: ContractBroker) -> None:
    broker.sessions = [recorded.session(f"{HOSTILE}{number:03}") for number in range(60)]
    response = await client.get("/clients", params={"search": HOSTILE})
    page = Reader(response.text)
    assert len(listed(page)) == 50
    assert all(tag != "img" for tag, _ in page.elements)


@pytest.mark.parametrize("query", ["state=asleep", "sort=x", "search=" + "x" * 101])
async def test_what_is_no_search_is_refused(client: httpx.AsyncClient, query: str) -> None:
    assert (await client.get(f"/clients?{query}")).status_code == 422
