"""An open page fetches the parts that have changed."""

import json

import httpx

from api.drawing.parts import HEADER, SEPARATOR, parts_response
from tests.api.contract_broker import ContractBroker


async def parts_of(client: httpx.AsyncClient, known: str, path: str = "/") -> list[list[str]]:
    response = await client.get(path, headers={HEADER: known, "Accept": "text/html"})
    assert response.headers["content-type"] == "application/json"
    parts: list[list[str]] = response.json()
    return parts


async def test_a_page_comes_whole_at_first_and_then_without_what_is_the_same(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    for path in ("/", "/clients", "/system"):
        first = await parts_of(client, "", path)
        html = "".join(text for _, text in first)
        assert html.startswith("<!doctype html>")
        assert html.rstrip().endswith("</html>")
        known = ",".join(digest for digest, _ in first)
        then = await parts_of(client, known, path)
        assert then[0][0] == first[0][0]
        unchanged = [index for index, (_, text) in enumerate(then) if text is None]
        assert len(unchanged) > len(then) / 2


async def test_a_reader_without_the_script_gets_a_page_without_separators(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    assert SEPARATOR not in (await client.get("/")).text


async def test_what_no_script_of_ours_sends_gets_everything(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    for known in ("x", "," * 5000, "é" * 20, "0" * 16):
        response = await client.get("/", headers=httpx.Headers({HEADER: known}, encoding="utf-8"))
        assert response.status_code == 200
        assert all(text is not None for _, text in response.json())


def test_a_part_that_moved_is_sent_again() -> None:
    html = f"a{SEPARATOR}b"
    (a, _), (b, _) = json.loads(bytes(parts_response(html, "").body))
    assert parts_response(html, f"{a},{b}").body == f'[["{a}", null], ["{b}", null]]'.encode()
    assert parts_response(html, f"{b},{a}").body == parts_response(html, "").body


async def test_a_broker_that_is_down_is_reported_in_parts_too(client: httpx.AsyncClient) -> None:
    response = await client.get("/", headers={HEADER: ""})
    assert response.status_code == 503
    assert "The gateway is down" in response.text
