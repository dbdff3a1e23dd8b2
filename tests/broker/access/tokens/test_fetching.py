"""Documents fetched from a provider: a real server, and all kinds of bad responses."""

import ssl
from pathlib import Path

import pytest

from gateway.broker.access.tokens.fetching import DOCUMENT_BYTES_MAX, Fetcher, NotFetched, read
from tests.broker.access.authority import Authority
from tests.peers.identity_provider import IdentityProvider


def test_a_document_is_fetched(provider: IdentityProvider) -> None:
    assert Fetcher(5).fetch(f"{provider.url}/keys")["keys"][0]["kid"] == "first"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (500, "answered 500"),
        (404, "answered 404"),
        (302, "answered 302"),
        (b"<html>", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[1]", "is no JSON object"),
        (b" " * (DOCUMENT_BYTES_MAX + 1), f"longer than {DOCUMENT_BYTES_MAX} bytes"),
    ],
    ids=str,
)
def test_any_other_answer_is_a_reason(
    provider: IdentityProvider, answer: bytes | int, reason: str
) -> None:
    provider.documents["/other"] = answer
    with pytest.raises(NotFetched, match=reason):
        Fetcher(5).fetch(f"{provider.url}/other")


def test_a_provider_that_does_not_answer_costs_the_timeout(provider: IdentityProvider) -> None:
    provider.may_answer.clear()
    with pytest.raises(NotFetched, match="timed out"):
        Fetcher(0.1).fetch(f"{provider.url}/keys")


def test_only_http_is_spoken(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("{}")
    with pytest.raises(NotFetched, match="expected http or https"):
        Fetcher(1).fetch((tmp_path / "keys").as_uri())
    with pytest.raises(NotFetched, match="refused"):
        Fetcher(1).fetch("http://127.0.0.1:1/keys")


def test_authorities_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nonsense")
    for name in ("ca.pem", "missing.pem"):
        with pytest.raises(NotFetched, match=f"{name}: no certificates"):
            Fetcher(1, tmp_path / name)


def test_a_file_is_read_within_the_same_bounds(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    with pytest.raises(NotFetched, match="cannot be read"):
        read(path)
    path.write_text('{"keys": []}')
    assert read(path) == {"keys": []}
    path.write_bytes(b" " * (DOCUMENT_BYTES_MAX + 1))
    with pytest.raises(NotFetched, match="longer than"):
        read(path)


def test_a_provider_with_https_has_to_prove_who_it_is_by_the_authority_that_is_named(
    tmp_path: Path,
) -> None:
    authority, other = Authority(tmp_path / "ca"), Authority(tmp_path / "other")
    right = authority.issue("right", alternatives="DNS:localhost")
    of_another_name = authority.issue("wrong", alternatives="DNS:login.example")
    for pair, ca, reason in (
        (right, authority.ca, None),
        (right, other.ca, "certificate verify failed"),
        (right, None, "certificate verify failed"),  # the operating system's authorities
        (of_another_name, authority.ca, "certificate verify failed: Hostname mismatch"),
    ):
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*pair)
        provider = IdentityProvider(context)
        try:
            if reason is None:
                assert Fetcher(30, ca).fetch(f"{provider.url}/keys")["keys"][0]["kid"] == "first"
            else:
                with pytest.raises(NotFetched, match=reason):
                    Fetcher(30, ca).fetch(f"{provider.url}/keys")
                assert provider.asked == [], "it learns nothing of what is asked"
        finally:
            provider.stop()
