"""Every problem has the same form of response, with the fix."""

import httpx

from tests.api.contract_broker import ContractBroker
from tests.peers.control_server import refusal


async def test_a_limit_outside_the_contract_is_a_problem_that_names_it(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    for limit in ("0", "1001", "-1", "ten", ""):
        response = await client.get("/api/v1/sessions", params={"limit": limit})
        assert response.status_code == 422
        assert response.headers["content-type"] == "application/problem+json"
        assert "limit" in response.json()["detail"]
    assert broker.requests == []


async def test_an_unknown_session_is_404_with_the_brokers_words(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    response = await client.get("/api/v1/sessions/nobody")
    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json() == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": "no session for client id 'nobody'",
        "mend": "Check what exists now: it may have ended meanwhile.",
    }


async def test_a_refusal_without_a_meaning_in_http_is_a_bad_gateway(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    broker.instead = lambda _: refusal("odd", "the disk is gone")
    response = await client.get("/api/v1/status")
    assert response.status_code == 502
    assert response.json()["detail"] == "the disk is gone"
