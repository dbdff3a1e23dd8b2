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


CLOCK = "The clock of this gateway is wrong"


@pytest.mark.parametrize(
    "answer",
    [
        "403 Forbidden: <Error><Code>RequestTimeTooSkewed</Code><BucketName>b</BucketName></Error>",
        "403 No: <Error><Code>AccessDenied</Code><Message>Forbidden: Date is too old</Message>",
        (
            "403 No: \ufeff<Error><Code>AuthenticationFailed</Code><Message>Server failed to "
            "authenticate the request.\nRequestId:x</Message><AuthenticationErrorDetail>Request "
            "date header too old: 'Thu, 01 Jan 1970'</AuthenticationErrorDetail></Error>"
        ),
        (
            '400 Bad Request: {"error":"invalid_grant","error_description":"Invalid JWT: Token '
            'must be a short-lived token (60 minutes) and in a reasonable timeframe."}'
        ),
        (
            "403 No: <Error><Code>SignatureDoesNotMatch</Code><Message>Signature not yet current: "
            "20361127T050000Z is still later than 20261127T050500Z</Message></Error>"
        ),
    ],
    ids=["ceph", "garage", "azure", "google", "sts"],
)
def test_a_store_that_dislikes_the_time_of_a_request_means_a_wrong_clock(answer: str) -> None:
    assert CLOCK in sentence_and_kind_of(OSError(ANSWER.format(answer)))[0]


def test_a_certificate_from_the_future_means_a_wrong_clock() -> None:
    text = f"Generic S3 error: Error performing PUT {URL} in 5ms - HTTP error: client error: {{}}"
    early = OSError(text.format("invalid peer certificate: NotValidYet"))
    assert CLOCK in sentence_and_kind_of(early)[0]
    unknown = OSError(text.format("invalid peer certificate: UnknownIssuer"))
    assert CLOCK not in sentence_and_kind_of(unknown)[0]


UNSENT = (
    f"Generic S3 error: Error performing HEAD {URL} in 5ms - HTTP error: error sending request"
    "\n\nDebug source:\nGeneric {{ inner: Http( HttpError {{ kind: Connect,\n  source: "
    "reqwest::Error {{ kind: Request,\n  source: {} }} }} ) }}"
)
"""An error of obstore after a request could not be sent. Only its debug text has the cause."""


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        (
            (
                'ConnectError( "tcp connect error", 192.0.2.7:443, Os { code: 111, kind: '
                'ConnectionRefused, message: "Connection refused", }, )'
            ),
            "Connection refused",
        ),
        (
            (
                'ConnectError( "dns error", Custom { kind: Uncategorized, error: "failed to lookup '
                'address information: Name or service not known", }, )'
            ),
            "failed to lookup address information: Name or service not known",
        ),
        ("TimedOut,", "the store did not answer in time"),
        (
            "error: InvalidCertificate(\n    ExpiredContext {\n time: UnixTime( 7, ), }, )",
            "the store's certificate has expired",
        ),
        (
            "error: InvalidCertificate(\n    NotValidForNameContext {\n expected: Ip( 1 ) })",
            "the store's certificate is for another name",
        ),
        (
            "error: InvalidCertificate(\n    UnknownIssuer,\n )",
            "the store's certificate is signed by an authority that this machine does not trust",
        ),
        (
            "error: InvalidCertificate(\n    BadEncoding,\n )",
            "the store's certificate is refused: BadEncoding",
        ),
    ],
)
def test_the_cause_of_a_request_that_cannot_be_sent_is_shown(source: str, cause: str) -> None:
    sentence, kind = sentence_and_kind_of(OSError(UNSENT.format(source)))
    assert sentence == f"the request to the store failed: {cause}"
    assert kind == f"OSError {cause}"


def test_a_cause_that_is_not_known_leaves_the_library_s_own_words() -> None:
    sentence, kind = sentence_and_kind_of(OSError(UNSENT.format("Canceled")))
    assert sentence == "Generic S3 error: HEAD: HTTP error: error sending request"
    assert kind == "OSError"


def test_a_certificate_from_the_future_is_found_in_the_library_s_debug_text() -> None:
    early = "error: InvalidCertificate(\n    NotValidYetContext {\n time: UnixTime( 7, ), }, )"
    sentence, _ = sentence_and_kind_of(OSError(UNSENT.format(early)))
    assert "the store's certificate is not valid yet" in sentence
    assert CLOCK in sentence


@pytest.mark.parametrize(
    "path", ["169.254.169.254/latest/api/token", "metadata.google.internal/computeMetadata/v1/t"]
)
@pytest.mark.parametrize(
    "end", ["HTTP error: error sending request", "Server returned non-2xx status code: 403 No: x"]
)
def test_a_question_to_a_cloud_s_metadata_service_means_missing_credentials(
    path: str, end: str
) -> None:
    text = f"Generic S3 error: Error performing PUT http://{path} in 2s - {end}"
    sentence, kind = sentence_and_kind_of(OSError(text))
    assert "the environment of the uploader has no credentials" in sentence
    assert "AWS_ACCESS_KEY_ID" in sentence
    assert kind == "OSError credentials"


def test_a_signature_for_another_region_names_the_fix() -> None:
    answer = "400 Bad Request: <Error><Code>AuthorizationHeaderMalformed</Code></Error>"
    assert "Set AWS_REGION" in sentence_and_kind_of(OSError(ANSWER.format(answer)))[0]


def test_a_timeout_of_a_proxy_is_not_a_wrong_clock() -> None:
    answer = "408 Request Timeout: <html><h1>408 Request Time-out</h1>Your browser was slow.</html>"
    assert CLOCK not in sentence_and_kind_of(OSError(ANSWER.format(answer)))[0]


def test_the_cause_that_azure_names_apart_is_shown() -> None:
    answer = (
        "403 No: <Error><Code>AuthenticationFailed</Code><Message>Failed.\nRequestId:x</Message>"
        "<AuthenticationErrorDetail>Issuer validation failed.</AuthenticationErrorDetail></Error>"
    )
    assert sentence_and_kind_of(OSError(ANSWER.format(answer)))[0] == (
        "the store refused PUT with 403 No: AuthenticationFailed: Failed: Issuer validation failed"
    )


def test_a_digest_that_a_store_computes_otherwise_may_be_left_out() -> None:
    answer = "400 Bad Request: <Error><Code>XAmzContentSHA256Mismatch</Code></Error>"
    assert "checksum_header = false" in sentence_and_kind_of(OSError(ANSWER.format(answer)))[0]


def test_a_huge_answer_makes_a_short_sentence() -> None:
    sentence, _ = sentence_and_kind_of(OSError(ANSWER.format("500 Oh: " + "<Message>" * 10**6)))
    assert len(sentence) < 400
