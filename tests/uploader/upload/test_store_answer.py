from __future__ import annotations

import pytest

from gateway.uploader.upload.store_answer import is_answer, sentence_and_kind_of

URL = "http://127.0.0.1:9000/logs/" + "n" * 300
ANSWER = (
    f"Generic S3 error: Error performing PUT {URL} in 5.5ms, after 1 retries - "
    "Server returned non-2xx status code: {}\n\nDebug source:\nGeneric {{ status: 500 }}"
)


@pytest.mark.parametrize(
    ("answer", "sentence", "kind"),
    [
        (
            "403 Forbidden: <Error><Code>AccessDenied</Code><Message>No.</Message></Error>",
            "the store refused PUT with 403 Forbidden: AccessDenied: No",
            "OSError 403 Forbidden AccessDenied",
        ),
        (
            "409 Conflict: <Error><Message>only this</Message>",
            "the store refused PUT with 409 Conflict: only this",
            "OSError 409 Conflict",
        ),
        (
            '400 Bad Request: {"code":"Invalid","message":"a \\u00fc"}',
            "the store refused PUT with 400 Bad Request: Invalid: a \\u00fc",
            "OSError 400 Bad Request Invalid",
        ),
        (
            "502 Bad Gateway: <html><body><h1>502</h1>\n\n</body></html>",
            "the store refused PUT with 502 Bad Gateway: 502",
            "OSError 502 Bad Gateway",
        ),
        (
            "403 Forbidden: <Code>X</Code><Message>token=SECRET</Message>",
            "the store refused PUT with 403 Forbidden: X: token=...",
            "OSError 403 Forbidden X",
        ),
    ],
)
def test_the_reason_is_what_the_store_gives(answer: str, sentence: str, kind: str) -> None:
    problem = OSError(ANSWER.format(answer))
    assert is_answer(problem)
    assert sentence_and_kind_of(problem) == (sentence, kind)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (
            (
                f"Generic S3 error: Error performing PUT {URL} in 1ms - Received redirect without "
                "LOCATION, this normally indicates an incorrectly configured region"
            ),
            "PUT with a redirect to another region. Set AWS_REGION",
        ),
        (
            ANSWER.format("301 Moved Permanently: "),
            "301 Moved Permanently: it gives no reason. Set",
        ),
        (
            (
                f"Generic S3 error: Error performing PUT {URL} in 1ms - HTTP error: invalid utf-8 "
                "sequence of 1 bytes from index 0"
            ),
            "an answer that is no UTF-8 text",
        ),
        (
            (
                "Generic S3 error: Unable to extract metadata from headers: "
                "ETag Header missing from response"
            ),
            "without the header ETag. Check that the URL",
        ),
    ],
)
def test_texts_of_the_library_become_a_sentence_with_the_fix(text: str, part: str) -> None:
    sentence, _ = sentence_and_kind_of(OSError(text))
    assert part in sentence
    assert "Generic" not in sentence


def test_what_is_no_answer_is_shown_without_the_long_url() -> None:
    problem = OSError(f"Generic S3 error: Error performing HEAD {URL} in 2s - HTTP error: refused")
    assert not is_answer(problem)
    assert sentence_and_kind_of(problem) == (
        "Generic S3 error: HEAD: HTTP error: refused",
        "OSError",
    )


def test_a_huge_answer_makes_a_short_sentence() -> None:
    sentence, _ = sentence_and_kind_of(OSError(ANSWER.format("500 Oh: " + "<Message>" * 10**6)))
    assert len(sentence) < 400
