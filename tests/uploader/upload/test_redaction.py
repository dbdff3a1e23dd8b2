from __future__ import annotations

import pytest

from gateway.uploader.upload.redaction import shown_error, shown_target


def test_a_target_is_shown_without_user_password_and_query() -> None:
    url = "https://user:secret@host:8443/logs?sig=abc#part"
    assert shown_target(url) == "https://host:8443/logs"


@pytest.mark.parametrize(
    "text",
    [
        "error sending request for url (https://h/c/x?sv=2024&sig=SECRET%3D&se=1): timeout",
        "https://user:SECRET@host/path refused",
        "Authorization: Bearer SECRET",
        'X-Amz-Signature="SECRET" X-Amz-Credential=SECRET',
        "<Token>x</Token> token=SECRET",
    ],
)
def test_an_error_is_shown_without_credentials(text: str) -> None:
    shown = shown_error(ValueError(text))
    assert "SECRET" not in shown
    assert shown


def test_an_error_is_one_line_and_short() -> None:
    shown = shown_error(ValueError("first\nsecond " + "x" * 10_000))
    assert shown.startswith("first second xxx")
    assert len(shown) < 320
