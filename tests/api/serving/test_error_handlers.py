"""Errors are a page for people in a browser, and problem details for programs."""

import httpx
import pytest

from tests.api.contract_broker import ContractBroker

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.mark.usefixtures("broker")
@pytest.mark.parametrize(
    ("path", "host", "status", "words"),
    [
        ("/nowhere", None, 404, "no page &#39;/nowhere&#39;."),
        ("/logout", None, 405, "cannot be asked with &#39;GET&#39;."),
        ("/", "gw.lan:8080", 421, "[api] hosts"),
        ("/actions/kick?client_id=a", None, 403, "[api] operators"),
        ("/session", None, 422, "client_id"),
    ],
)
async def test_a_browser_gets_a_page_and_a_program_problem_details(
    client: httpx.AsyncClient,
    path: str,
    host: str | None,
    status: int,
    words: str,
) -> None:
    name = {} if host is None else {"Host": host}
    shown = await client.get(path, headers=BROWSER | name)
    assert shown.status_code == status
    assert shown.headers["content-type"].startswith("text/html")
    assert words in shown.text
    assert "content-security-policy" in shown.headers
    read = await client.get(path, headers=name)
    assert read.status_code == status
    assert read.headers["content-type"] == "application/problem+json"
    assert read.json()["status"] == status


async def test_a_path_for_programs_never_answers_with_a_page(
    broker: ContractBroker, client: httpx.AsyncClient
) -> None:
    for path in ("/api/v1/nowhere", "/metrics/nowhere"):
        answer = await client.get(path, headers=BROWSER)
        assert answer.headers["content-type"] == "application/problem+json"


async def test_a_name_from_a_stranger_is_shown_harmless(
    broker: ContractBroker, client: httpx.AsyncClient
) -> None:
    host = "x<script>alert(1)</script>"
    answer = await client.get("/", headers=BROWSER | {"Host": host})
    assert answer.status_code == 421
    assert "<script>alert" not in answer.text


async def test_the_page_that_refuses_a_name_has_its_style(
    broker: ContractBroker, client: httpx.AsyncClient
) -> None:
    elsewhere = {"Host": "gw.lan:8080"}
    assert (await client.get("/assets/page.css", headers=elsewhere)).status_code == 200
    assert (await client.get("/api/v1/status", headers=elsewhere)).status_code == 421
