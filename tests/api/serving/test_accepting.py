"""Compression only for clients that accept it."""

import httpx
import pytest

from tests.api.contract_broker import ContractBroker


@pytest.mark.parametrize(
    ("accepted", "is_compressed"),
    [
        ("gzip", True),
        ("br, gzip;q=0.5", True),
        ("gzip;q=0", False),
        ("identity, gzip; q=0.0", False),
    ],
)
async def test_who_refuses_gzip_gets_none(
    client: httpx.AsyncClient, broker: ContractBroker, accepted: str, is_compressed: bool
) -> None:
    answer = await client.get("/api/v1/status", headers={"Accept-Encoding": accepted})
    assert ("content-encoding" in answer.headers) is is_compressed
    assert answer.headers["vary"] == "Accept-Encoding"
