"""Parses an object store's error response: status, code and message.

obstore puts the response at the end of a long string, after two copies of the URL. Stores respond
in XML (S3, Google, Azure) or JSON, and proxies in HTML. Some responses have an empty body.
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
)
"""Errors for which obstore does not preserve the response: a part of its message, a sentence, and
the fix."""

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
    text, name = str(problem).partition("\n\nDebug source:")[0], type(problem).__name__
    status = _STATUS.search(text)
    method = _METHOD.search(text)
    what = method[1] if method else "a request"
    if status is None:
        for part, sentence, fix in _WITHOUT_STATUS:
            if part in text:
                return sentence.format(what) + fix, f"{name} {part}"
        fix = _clock_fix() if _EARLY_CERTIFICATE.search(text) else ""
        return shown_error(_PERFORMING.sub(r"\1: ", text) or problem) + fix, name
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


def _first(pattern: re.Pattern[str], answer: str) -> str:
    import html  # noqa: PLC0415 - only for an error message, and its table of entities is large

    match = pattern.search(answer)
    return html.unescape(next(filter(None, match.groups()), "")) if match else ""


def _fix_of(status: str, code: str, message: str) -> str:
    if status.startswith(("301", "307", "308")):
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
