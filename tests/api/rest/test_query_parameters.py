"""A request with a mistyped query parameter is refused."""

import httpx

from tests.api.contract_broker import ContractBroker


async def test_an_unknown_parameter_is_refused_with_those_that_there_are(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    response = await client.get("/api/v1/history/series", params={"filter": "x"})
    assert response.status_code == 422
    assert "filter is not a parameter here; there are: none" in response.json()["detail"]
    response = await client.get("/api/v1/history", params={"series": "a", "until": "3"})
    assert response.status_code == 422
    assert "format, from, series, step, to" in response.json()["detail"]
