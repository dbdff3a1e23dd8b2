"""The page with the gateway's own state."""

import httpx

from tests.api import recorded
from tests.api.contract_broker import ContractBroker
from tests.api.page_reader import read


async def test_it_has_counters_and_curves_of_the_gateway(recording: httpx.AsyncClient) -> None:
    words = (await read(recording, "/system")).words
    for shown in ("2, exactly once18,42336,846", "Messages received", "/s in this hour", "GB"):
        assert shown in words, shown
    assert "24 h ago" in (await read(recording, "/system?span=day")).words


async def test_without_a_history_there_are_no_curves_yet(
    client: httpx.AsyncClient, broker: object
) -> None:
    assert "No charts yet" in (await read(client, "/system")).words


async def test_certificates_are_listed_with_the_days_that_they_have_left(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    certificate = {"subject": "gateway.example", "not_after_ms": recorded.NOW_MS, "days_left": 5}
    problem = {"problem": "server.pem: expires in 5 days: renew it"}
    broker.status["listeners"][0]["certificate"] = certificate | problem
    words = (await read(client, "/system")).words
    assert "gateway.example" in words
    assert "expires in 5 days" in words
