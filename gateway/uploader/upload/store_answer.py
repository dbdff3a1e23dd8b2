"""Parses an error of an object store: its response (status, code and message), or the cause if no
request could be sent.

obstore puts the response at the end of a long string, after two copies of the URL. Stores respond
in XML (S3, Google, Azure) or JSON, and proxies in HTML. Some responses have an empty body. If no
request could be sent, only obstore's debug text contains the cause.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from gateway.uploader.upload.redaction import shown_error

ANSWER_CHARACTERS_MAX = 4_096
"""Number of characters of a response that are searched for code and message, which stores put
first."""

_STATUS = re.compile(
    r"Server returned non-2xx status code: ([0-9]{3}[^:\n]{0,40})(?:: )?", re.ASCII
)
_METHOD = re.compile(r"Error performing ([A-Z]{3,7}) ")
_PERFORMING = re.compile(r"(?:^|(?<=: ))Error performing ([A-Z]{3,7}) (\S+) in .*? - ", re.DOTALL)
_CODE = re.compile(r"<Code>\s*([^<]{1,100}?)\s*</Code>|\"code\"\s*:\s*\"?([\w.-]{1,100})")
_MESSAGE = re.compile(r"<Message>\s*([^<]+?)\s*</Message>|\"message\"\s*:\s*\"([^\"]+)\"")
# Azure names the cause in an element of its own.
_DETAIL = re.compile(r"<AuthenticationErrorDetail>\s*([^<]+?)\s*</AuthenticationErrorDetail>")
_MARKUP = re.compile(r"<[^<>]*>?")

_REGION_FIX = ". Set AWS_REGION and AWS_ENDPOINT_URL to those of the bucket"
_WITHOUT_STATUS = (
    (
        "redirect without LOCATION",
        "the store refused {} with a redirect to another region",
        _REGION_FIX,
    ),
    (
        "invalid utf-8 sequence",
        "the store refused {} with an answer that is no UTF-8 text, so that its reason is unknown",
        ". Check that the URL is that of an object store",
    ),
    (
        "ETag Header missing",
        "the store answered without the header ETag",
        ". Check that the URL is that of an object store, not of a web page or a proxy",
    ),
    (
        "InvalidUri",
        "the store's address is no URL",
        ". Check AWS_ENDPOINT_URL: it must begin with https:// or http://",
    ),
    (
        "InvalidContentType",
        "the store's address is a URL with TLS, but the store answers without",
        ". Check AWS_ENDPOINT_URL",
    ),
    (
        "source: BadScheme",
        "the store's address is a URL without TLS",
        ". If this is intended, set AWS_ALLOW_HTTP=true in the environment of the uploader",
    ),
)
"""Errors for which obstore does not preserve the response: a part of its message, a sentence, and
the fix."""

_CAUSE = re.compile(
    r"\b(?:message|error): \"([^\"\n]{1,200})\"|\bInvalidCertificate\(\s*(\w{1,60})"
    r"|\bsource: (TimedOut)\b"
)
"""The innermost error in obstore's debug text: of the operating system, TLS, or a timeout."""
_CERTIFICATE_CAUSES = {
    "NotValidYet": "is not valid yet",
    "Expired": "has expired",
    "NotValidForName": "is for another name",
    "UnknownIssuer": "is signed by an authority that this machine does not trust",
}
# Without credentials in the environment, obstore queries the metadata service of a cloud.
_METADATA_SERVICE = re.compile(
    r"Error performing [A-Z]+ http://(?:169\.254\.169\.254|metadata\.google\.internal)/"
)
_NO_CREDENTIALS = (
    "the environment of the uploader has no credentials for the store. Set AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, or the variables of Google or Azure"
)

_CLOCK_CODES = frozenset({"RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture"})
_CLOCK_MESSAGE = re.compile(
    r"(?i)\bdate (?:header )?(?:is )?too (?:old|new)|request time(?![ -]?out)|clock skew"
    r"|signature (?:not yet current|expired: )|reasonable timeframe"
)
_EARLY_CERTIFICATE = re.compile(r"(?i)certificate.{0,40}not ?valid ?yet")
"""Pattern for an error about a certificate that is not valid yet, because the clock is slow."""
_CHECKSUM_MESSAGE = re.compile(r"(?i)checksum|x-amz-sdk|header you provided implies functionality")


def is_answer(problem: BaseException) -> bool:
    """Return True if an error is a response from the store, False if the store did not respond."""
    return _STATUS.search(str(problem)) is not None


def sentence_and_kind_of(problem: BaseException) -> tuple[str, str]:
    """Return a sentence about a failed upload, without secrets, and a short name for its cause."""
    text, _, debug = str(problem).partition("\n\nDebug source:")
    name = type(problem).__name__
    if _METADATA_SERVICE.search(text):
        return _NO_CREDENTIALS, f"{name} credentials"
    status = _STATUS.search(text)
    method = _METHOD.search(text)
    what = method[1] if method else "a request"
    if status is None:
        return _unsent(problem, text, debug, what)
    answer = text[status.end() : status.end() + ANSWER_CHARACTERS_MAX]
    code, message = _first(_CODE, answer), _first(_MESSAGE, answer)
    if detail := _first(_DETAIL, answer):
        message = f"{message.partition(chr(10))[0].rstrip('.')}: {detail}"
    if not code and not message:
        message = " ".join(_MARKUP.sub(" ", answer).split())
    reason = ": ".join(part for part in (code, message.rstrip(".")) if part) or "it gives no reason"
    sentence = shown_error(f"the store refused {what} with {status[1].strip()}: {reason}")
    return sentence + _fix_of(status[1], code, message), " ".join(
        (name, status[1].strip(), code)
    ).strip()


def _unsent(problem: BaseException, text: str, debug: str, what: str) -> tuple[str, str]:
    """Return sentence and kind of an error that is not a response with a status."""
    name = type(problem).__name__
    for part, sentence, fix in _WITHOUT_STATUS:
        if part in text or part in debug:
            return sentence.format(what) + fix, f"{name} {part}"
    cause = _cause_in(debug)
    fix = _clock_fix() if _EARLY_CERTIFICATE.search(cause or text) else ""
    if cause:
        return shown_error(f"the request to the store failed: {cause}") + fix, f"{name} {cause}"
    return shown_error(_PERFORMING.sub(r"\1: ", text) or problem) + fix, name


def _cause_in(debug: str) -> str:
    """Return the cause that obstore's debug text contains, or "" if it contains none."""
    match = _CAUSE.search(debug)
    if match is None:
        return ""
    message, certificate, _ = match.groups()
    if certificate is None:
        return message or "the store did not answer in time"
    kind = certificate.removesuffix("Context")
    return f"the store's certificate {_CERTIFICATE_CAUSES.get(kind, f'is refused: {kind}')}"


def _first(pattern: re.Pattern[str], answer: str) -> str:
    import html  # noqa: PLC0415 - only for an error message, and its table of entities is large

    match = pattern.search(answer)
    return html.unescape(next(filter(None, match.groups()), "")) if match else ""


def _fix_of(status: str, code: str, message: str) -> str:
    if status.startswith(("301", "307", "308")) or code == "AuthorizationHeaderMalformed":
        return _REGION_FIX
    if code in _CLOCK_CODES or _CLOCK_MESSAGE.search(message):
        return _clock_fix()
    if code == "XAmzContentSHA256Mismatch" or _CHECKSUM_MESSAGE.search(message):
        return ". If the store does not know checksums, set [upload] checksum_header = false"
    return ""


def _clock_fix() -> str:
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
    return (
        f". The clock of this gateway is wrong: it shows {now} UTC. Set it, or let it reach a "
        "time server (`timedatectl`)"
    )
