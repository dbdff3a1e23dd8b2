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


async def test_every_route_refuses_an_unknown_parameter(client: httpx.AsyncClient) -> None:
    description = (await client.get("/openapi.json")).json()
    routes = [
        path
        for path, operations in description["paths"].items()
        if path.startswith("/api/") and "get" in operations
    ]
    assert "/api/v1/bans" in routes
    for path in routes:
        response = await client.get(path, params={"no-parameter": "x"})
        # Without users, the routes of operators are refused before their parameters are read.
        if response.status_code != 403:
            assert response.status_code == 422, path
            assert "no-parameter is not a parameter here" in response.text, path
