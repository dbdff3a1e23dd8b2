"""Checks environment variables that an object store's library reads.

Rust code in obstore panics at values that cannot be part of a request, and prints a stack trace for
each attempt. Such values are typical of an environment file with Windows line ends, quotation
marks or an address without a scheme.
"""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from gateway.uploader.upload.redaction import shown_error
from gateway.uploader.upload.target_error import TargetError

_AWS_ADDRESSES = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_ENDPOINT_URL_S3")
_AWS_WORDS = (
    *("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN"),
    *("AWS_SECRET_ACCESS_KEY", "AWS_TOKEN"),
)
_AZURE_ADDRESSES = ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT")
_ADDRESSES_OF = {
    **dict.fromkeys(("s3", "s3a"), _AWS_ADDRESSES),
    **dict.fromkeys(("az", "azure", "abfs", "abfss"), _AZURE_ADDRESSES),
}
_WORDS_OF = dict.fromkeys(("s3", "s3a"), _AWS_WORDS)


def check(url: str) -> None:
    """Check the environment variables that the library reads for a target.

    Raises TargetError if a value cannot be part of a request. The message never contains the value
    of a key or token.
    """
    scheme = url.partition(":")[0]
    for name in _ADDRESSES_OF.get(scheme, ()):
        value = os.environ.get(name)
        if value is not None and not _is_address(value):
            raise TargetError(
                f"the store's address is no URL: {name} is {shown_error(repr(value))}. Check "
                f"{name}: it must begin with https:// or http://, followed by a host name, "
                "without spaces and quotation marks",
                f"variable {name}",
            )
    for name in _WORDS_OF.get(scheme, ()):
        if not _is_word(os.environ.get(name, "")):
            raise TargetError(
                f"the value of {name} contains a space, a line end or another character that no "
                f"such value has. Check {name} in the environment of the uploader",
                f"variable {name}",
            )


def _is_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        return False
    is_plain = value.isascii() and value.isprintable() and not set(value) & set(' "<>\\^`{|}')
    return is_plain and parts.scheme in {"http", "https"} and bool(parts.hostname) and port != 0


def _is_word(value: str) -> bool:
    return value.isascii() and value.isprintable() and " " not in value
