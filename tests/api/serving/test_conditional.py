"""Conditional requests to the REST interface: ETag and 304."""

import httpx
import pytest

from tests.api.contract_broker import ContractBroker


async def test_a_program_that_has_the_answer_gets_304_until_it_changes(
    client: httpx.AsyncClient, broker: ContractBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.limits.ANSWER_REUSE_SECONDS", 0.0)
    first = await client.get("/api/v1/sessions")
    assert first.status_code == 200
    assert first.headers["cache-control"] == "no-store"
    tag = first.headers["etag"]
    strong = tag.removeprefix("W/")  # [RFC 9110, 13.1.2] the comparison is weak
    for known in (tag, f'"other", {tag}', "*", strong, f'"a, b",{strong}'):
        again = await client.get("/api/v1/sessions", headers={"If-None-Match": known})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == tag
    lines = [("If-None-Match", '"other"'), ("If-None-Match", tag)]
    assert (await client.get("/api/v1/sessions", headers=lines)).status_code == 304
    broker.sessions.pop()
    changed = await client.get("/api/v1/sessions", headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag


async def test_the_tag_is_the_same_with_and_without_compression(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    plain = await client.get("/api/v1/status", headers={"Accept-Encoding": "identity"})
    packed = await client.get("/api/v1/status", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["etag"] == plain.headers["etag"]


async def test_errors_pages_and_streams_have_no_tag(
    client: httpx.AsyncClient, broker: ContractBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.limits.ANSWER_REUSE_SECONDS", 0.0)
    for path in ("/", "/metrics", "/healthz", "/api/v1/sessions/nobody", "/api/v1/none"):
        assert "etag" not in (await client.get(path)).headers, path
    broker.silent = True
    answer = await client.get("/api/v1/status", headers={"If-None-Match": "*"})
    assert answer.status_code == 503


async def test_head_has_the_tag_of_get(client: httpx.AsyncClient, broker: ContractBroker) -> None:
    tag = (await client.get("/api/v1/status")).headers["etag"]
    assert (await client.head("/api/v1/status")).headers["etag"] == tag
