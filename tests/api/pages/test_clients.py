"""The search for clients."""

import httpx
import pytest

from api import limits
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


async def test_a_search_is_bounded_and_can_be_continued(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    broker.sessions = [recorded.session(f"client-{number:05}") for number in range(5_000)]
    assert listed(await read(client, "/clients?search=99%26")) == []
    assert broker.count_of("sessions") <= limits.SESSIONS_SEARCHED_MAX / limits.SESSIONS_PER_SEARCH
    found: list[str] = []
    path: str | None = "/clients?search=99"
    while path is not None:
        page = await read(client, path)
        found += listed(page)
        links = [each["href"] or "" for tag, each in page.elements if each.get("rel") == "next"]
        path = links[0] if links else None
    assert found == [f"client-{number:05}" for number in range(5_000) if "99" in f"{number:05}"]


async def test_a_hostile_search_is_text(client: httpx.AsyncClient, broker: ContractBroker) -> None:
    broker.sessions = [recorded.session(f"{HOSTILE}{number:03}") for number in range(60)]
    response = await client.get("/clients", params={"search": HOSTILE})
    page = Reader(response.text)
    assert len(listed(page)) == 50
    assert all(tag != "img" for tag, _ in page.elements)


@pytest.mark.parametrize("query", ["state=asleep", "search=" + "x" * 101])
async def test_what_is_no_search_is_refused(client: httpx.AsyncClient, query: str) -> None:
    assert (await client.get(f"/clients?{query}")).status_code == 422
