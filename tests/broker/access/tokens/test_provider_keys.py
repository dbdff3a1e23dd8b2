"""Keys of a provider: fetched, cached, fetched again, and used for a while during an outage."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.broker.access.tokens import provider_keys
from gateway.broker.access.tokens.fetching import Fetcher, NotFetched
from gateway.broker.access.tokens.provider_keys import (
    KEYS_MAX,
    ProviderKeys,
    Unavailable,
    from_file,
    from_issuer,
    from_url,
    keys_in,
)
from tests.peers.identity_provider import IdentityProvider, signer


@pytest.fixture
def keys(provider: IdentityProvider, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderKeys]:
    monkeypatch.setattr(provider_keys, "FETCH_PAUSE_SECONDS", 0.0)
    fetch = from_url(f"{provider.url}/keys", Fetcher(5))
    made = ProviderKeys(fetch, cache_seconds=3600, keep_seconds=3600)
    yield made
    made.close()


async def name_of(keys: ProviderKeys, key_id: str | None) -> str | None:
    found = await keys.get(key_id)
    return None if found is None else str(found["kid"])


async def test_many_that_ask_together_cost_one_fetch(
    provider: IdentityProvider, keys: ProviderKeys
) -> None:
    provider.may_answer.clear()
    asking = [asyncio.create_task(name_of(keys, "first")) for _ in range(50)]
    await asyncio.sleep(0)
    provider.may_answer.set()
    assert await asyncio.gather(*asking) == ["first"] * 50
    assert await name_of(keys, "first") == "first"
    assert provider.asked == ["/keys"]


async def test_a_new_key_is_fetched_when_a_token_names_it(
    provider: IdentityProvider, keys: ProviderKeys
) -> None:
    assert await name_of(keys, "first") == "first"
    provider.signers = [signer("second")]
    assert await name_of(keys, "second") == "second"
    assert await name_of(keys, "first") is None, "a key that was taken back is not used any more"


async def test_names_that_are_made_up_cost_the_provider_one_fetch_in_a_while(
    provider: IdentityProvider, keys: ProviderKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_keys, "FETCH_PAUSE_SECONDS", 3600.0)
    for number in range(20):
        assert await name_of(keys, f"made up {number}") is None
    assert provider.asked == ["/keys"]


async def test_a_token_without_the_name_of_a_key_is_for_the_only_one(
    provider: IdentityProvider, keys: ProviderKeys
) -> None:
    assert await name_of(keys, None) == "first"
    provider.signers.append(signer("second"))
    assert await name_of(keys, "second") == "second"
    assert await name_of(keys, None) is None


async def test_while_the_provider_is_away_the_last_keys_count_for_a_while(
    provider: IdentityProvider, keys: ProviderKeys
) -> None:
    assert await name_of(keys, "first") == "first"
    provider.documents["/keys"] = 503
    assert await name_of(keys, "second") is None
    assert keys.failure is not None
    assert "answered 503" in keys.failure
    assert await name_of(keys, "first") == "first"
    del provider.documents["/keys"]
    assert await name_of(keys, "second") is None
    assert keys.failure is None


async def test_keys_that_are_too_old_are_not_used(
    provider: IdentityProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_keys, "FETCH_PAUSE_SECONDS", 0.0)
    fetch = from_url(f"{provider.url}/keys", Fetcher(5))
    keys = ProviderKeys(fetch, cache_seconds=0.01, keep_seconds=0.02)
    assert await name_of(keys, "first") == "first"
    provider.documents["/keys"] = 503
    await asyncio.sleep(0.05)
    with pytest.raises(Unavailable, match="answered 503"):
        await keys.get("first")
    keys.close()


async def test_without_any_keys_nothing_can_be_checked(
    provider: IdentityProvider, keys: ProviderKeys
) -> None:
    provider.documents["/keys"] = b"{}"
    with pytest.raises(Unavailable, match="expected a list keys"):
        await keys.get("first")


async def test_the_issuer_s_discovery_names_the_url_of_the_keys(provider: IdentityProvider) -> None:
    fetch = from_issuer(provider.url, Fetcher(5), lambda url: url.startswith("http://127.0.0.1:"))
    assert [key["kid"] for key in fetch()] == ["first"]
    assert provider.asked == ["/.well-known/openid-configuration", "/keys"]
    for document, reason in (
        ({"issuer": "another", "jwks_uri": f"{provider.url}/keys"}, "another issuer"),
        ({"issuer": provider.url, "jwks_uri": "http://other.example/"}, "no URL with https"),
        ({"issuer": provider.url}, "no URL with https"),
    ):
        provider.documents["/.well-known/openid-configuration"] = json.dumps(document).encode()
        with pytest.raises(NotFetched, match=reason):
            fetch()


def test_a_file_holds_keys_as_well(provider: IdentityProvider, tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"keys": [each.public for each in provider.signers]}))
    assert [key["kid"] for key in from_file(path)()] == ["first"]


def test_keys_that_do_not_sign_are_left_out() -> None:
    keys = [{"kid": "a", "kty": "oct"}, {"kid": "b", "use": "enc"}, "c", {"kid": "d", "kty": "EC"}]
    assert [key["kid"] for key in keys_in({"keys": keys}, "x")] == ["d"]
    too_many: list[dict[str, str]] = [{}] * (KEYS_MAX + 1)
    for wrong in (None, 7, too_many):
        with pytest.raises(NotFetched):
            keys_in({"keys": wrong}, "x")
