"""Addresses of bundles: https only, without credentials, and nothing that is an option."""

import pytest

from gateway.process.bundle_address import is_bundle_address


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org/a.raucb",
        "https://192.0.2.1:8443/a?signature=x",
        "https://[2001:db8::1]/a",
    ],
)
def test_an_address_on_the_web_may_be_downloaded(text: str) -> None:
    assert is_bundle_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "--rollback-ends",
        "-https://example.org/a",
        "/etc/passwd",
        "http://example.org/a",
        "HTTPS:/example.org",
        "file:///etc/passwd",
        "https://",
        "https://user:secret@example.org/a",
        "https://user@example.org/a",
        "https://example.org/a b",
        "https://example.org/a\n--x",
        "https://example.org/\0",
        "https://example.org/ü",
        "https://[/a",
        "https://example.org:x/a",
        "https://example.org/" + "a" * 2000,
    ],
)
def test_anything_else_may_not(text: str) -> None:
    assert not is_bundle_address(text)
